import { spawn } from 'node:child_process'
import { once } from 'node:events'

/** The guest's end of a pseudo-terminal whose other end has the path `name`. */
export interface GuestPty {
  name: string
  /** What the guest prints. */
  print(text: string): void
  /** What is typed into the guest. */
  onTyped(fn: (bytes: Buffer) => void): void
}

/**
 * A real one, by `script` of util-linux, since Node cannot make any. It goes away with this process, however that
 * ends: the shell on it waits for the end of a pipe that only this process holds open.
 */
export async function openGuestPty(): Promise<GuestPty> {
  // As much as vfkit makes raw, and no more.
  const onSlave = 'stty -icrnl -icanon -echo; tty >&4; read -r _ <&3'
  const child = spawn('script', ['-q', '-e', '-f', '-c', onSlave, '/dev/null'], {
    stdio: ['pipe', 'pipe', 'ignore', 'pipe', 'pipe'],
    detached: true,
    cwd: '/',
  })
  child.stdin!.on('error', () => {})
  const [name] = (await once(child.stdio[4]!, 'data')) as [Buffer]
  return {
    name: name.toString('utf8').trim(),
    print: (text) => void child.stdin!.write(text, 'latin1'),
    onTyped: (fn) => void child.stdout!.on('data', fn),
  }
}
