import { appendFileSync, chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { BEHAVIOUR_FILE, type Behaviour, REQUESTS_FILE } from './fake-vfkit/behaviour.ts'

/** What the peer's guest prints when it starts; after that it echoes every byte. */
export const VFKIT_BANNER = 'guest up\r\n'
/** The boot as the peer's macOS tells it. */
export const MAC_BOOT_ID = '5A1F0C0E-0000-4000-8000-000000000001'

const MAIN = new URL('./fake-vfkit/main.ts', import.meta.url).pathname

/** Programs of a Mac in a folder of their own: a scripted `vfkit`, and those whose options differ on Linux. */
export class FakeMac {
  readonly dir: string
  /** To be put in front of PATH. */
  readonly bin: string
  readonly leases: string

  constructor(dir: string) {
    this.dir = dir
    this.bin = join(dir, 'bin')
    this.leases = join(dir, 'dhcpd_leases')
    mkdirSync(this.bin, { recursive: true })
    this.program('vfkit', `FAKE_VFKIT_DIR='${dir}' exec '${process.execPath}' '${MAIN}' "$@"`)
    this.program('stty', `[ "$1" = -F ] && exit 1; [ "$1" = -f ] && shift && set -- -F "$@"; exec /usr/bin/stty "$@"`)
    this.program('lsof', `[ "$*" = "-a -p $3 -d cwd -Fn" ] && echo "p$3" && echo "n$(readlink "/proc/$3/cwd")"`)
    this.program('sysctl', `[ "$*" = '-n kern.bootsessionuuid' ] && echo ${MAC_BOOT_ID}`)
  }

  get vfkit(): string {
    return join(this.bin, 'vfkit')
  }

  behave(behaviour: Behaviour): void {
    writeFileSync(join(this.dir, BEHAVIOUR_FILE), JSON.stringify(behaviour))
  }

  lease(text: string): void {
    appendFileSync(this.leases, text)
  }

  /** What all peers here were asked, in order. */
  requests(): { vm: string; asked: string; body: string }[] {
    const lines = readFileSync(join(this.dir, REQUESTS_FILE), { encoding: 'utf8', flag: 'a+' }).split('\n')
    return lines.filter(Boolean).map((line) => JSON.parse(line) as { vm: string; asked: string; body: string })
  }

  /** A program of one shell line that hides the real one. */
  program(name: string, line: string): void {
    const path = join(this.bin, name)
    writeFileSync(path, `#!/bin/sh\n${line}\n`)
    chmodSync(path, 0o755)
  }
}
