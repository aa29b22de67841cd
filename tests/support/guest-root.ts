import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Runs a script of ours with stand-ins for the programs it calls, inside a folder that stands for the guest's root. */
export class GuestRoot {
  readonly root = mkdtempSync(join(tmpdir(), 'eitri-payload-'))
  readonly #bin = join(this.root, 'bin')

  constructor() {
    mkdirSync(this.#bin)
    mkdirSync(join(this.root, 'dev'))
    mkdirSync(join(this.root, 'etc/chrony'), { recursive: true })
    writeFileSync(join(this.root, 'dev/console'), '')
    this.write('etc/chrony/chrony.conf', 'pool 2.debian.pool.ntp.org iburst\nconfdir /etc/chrony/conf.d\n')
    for (const name of ['sfdisk', 'partx', 'resize2fs', 'chronyd', 'udevadm', 'modprobe', 'sshd', 'systemctl'])
      this.program(name)
    this.program('findmnt', 'exit 1')
  }

  /** Says how it was called, then does `body`. */
  program(name: string, body = 'exit 0'): void {
    const script = `#!/bin/sh\necho ${name} "$@" >>${this.root}/calls\n${body}\n`
    writeFileSync(join(this.#bin, name), script, { mode: 0o755 })
  }

  write(path: string, text: string): void {
    writeFileSync(join(this.root, path), text)
  }

  has(path: string): boolean {
    return existsSync(join(this.root, path))
  }

  read(path: string): string {
    return readFileSync(join(this.root, path), 'utf8')
  }

  bytes(path: string): Buffer {
    return readFileSync(join(this.root, path))
  }

  /** Names in a folder, in order. */
  files(path: string): string[] {
    return readdirSync(join(this.root, path)).sort()
  }

  calls(): string[] {
    return this.has('calls') ? this.read('calls').trimEnd().split('\n') : []
  }

  /** What the script says. */
  run(script: string): string {
    // /dev/vda1 as a plain file is no block device: the test for one is turned into one for a file.
    const here = script
      .replaceAll('[ -b /dev/', '[ -f /dev/')
      .replaceAll('[ -c /dev/', '[ -f /dev/')
      .replaceAll(/(?<![\w./])\/(etc|var|dev|usr|run)\//g, `${this.root}/$1/`)
    const env = { PATH: `${this.#bin}:/usr/bin:/bin` }
    return execFileSync('/bin/sh', ['-s'], { env, input: here, encoding: 'utf8', stdio: 'pipe' })
  }

  report(): string[] {
    return this.read('var/lib/eitri/fleet-payload').trimEnd().split('\n')
  }

  [Symbol.dispose](): void {
    rmSync(this.root, { recursive: true })
  }
}
