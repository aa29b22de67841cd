import { randomBytes } from 'node:crypto'
import { Fault } from '../../../../ipc/faults.ts'
import type { SshConnection } from './connection.ts'
import { collect } from './exec.ts'

export interface ScriptOptions {
  /** Name of the host, for faults. */
  host: string
  signal: AbortSignal
  timeoutMs: number
  /** Run as root by sudo; the password is given only when sudo asks for it. */
  sudo?: { password: string | undefined }
  /** Called with what the script said so far, whenever that grows. */
  onOutput?(text: string): void
}

export interface ScriptResult {
  code: number
  /** What the script itself said: nothing of the login shell's own. */
  output: string
  stderr: string
}

/**
 * Runs a POSIX sh script on the host, whatever the login shell prints or is: the script comes by stdin, its output is
 * framed by unique marks. Raises ssh/sudo-refused (with `retry` when another password may do) and the connection's faults.
 */
export async function runScript(
  connection: Pick<SshConnection, 'exec'>,
  script: string,
  { host, signal, timeoutMs, sudo, onOutput }: ScriptOptions,
): Promise<ScriptResult> {
  const mark = `eitri-${randomBytes(8).toString('hex')}`
  const shell = `/bin/sh -c 'echo; echo ${mark}-start; exec /bin/sh'`
  const channel = await connection.exec(sudo ? `sudo -S -p '${mark}-password' -- ${shell}` : shell)
  let started = false
  let asked = 0
  let refused: string | undefined
  const { code, stdout, stderr } = await collect(channel, { host, signal, timeoutMs }, (texts) => {
    const asks = texts.stderr.split(`${mark}-password`).length - 1
    if (sudo && asks > asked && !started) {
      asked = asks
      if (asks === 1 && sudo.password !== undefined) channel.write(`${sudo.password}\n`)
      else {
        refused = sudo.password === undefined ? 'it asks for a password' : 'the password is wrong'
        channel.close()
      }
    }
    if (!started && texts.stdout.includes(`${mark}-start\n`)) {
      started = true
      channel.end(
        `eitri_script() {\n${script}\n}\n( eitri_script ) </dev/null\nset -- $?; echo; echo "${mark}-end $1"\n`,
      )
    }
    if (started) onOutput?.(framed(texts.stdout, mark).output)
  })
  if (started) {
    const end = framed(stdout, mark)
    return { code: end.code ?? (code || 255), output: end.output, stderr }
  }
  if (sudo) {
    const detail = refused ?? lastLine(stderr, mark)
    throw new Fault('ssh/sudo-refused', 'permanent', { host, detail, ...(refused ? { retry: 'password' } : {}) })
  }
  throw new Fault('ssh/protocol', 'permanent', {
    host,
    detail: `the login runs no commands${stderr.trim() ? `: ${lastLine(stderr, mark)}` : ''}`,
  })
}

/** The part between the marks; no code = the end mark has not come. */
export function framed(text: string, mark: string): { output: string; code?: number } {
  const from = text.indexOf(`${mark}-start\n`)
  const body = from < 0 ? '' : text.slice(from + mark.length + '-start\n'.length)
  const end = new RegExp(`\\n${mark}-end (\\d+)\\n`).exec(body)
  return end ? { output: body.slice(0, end.index), code: Number(end[1]) } : { output: body }
}

const lastLine = (text: string, mark: string): string =>
  text.replaceAll(`${mark}-password`, '').trim().split('\n').at(-1)?.slice(0, 200) ?? ''
