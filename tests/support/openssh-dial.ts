import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { dialOpenssh, type OpensshDialOptions } from '../../src/main/control/hosts/openssh/dial.ts'
import { forever, targetOf } from './ssh-login.ts'

/** A folder for sockets and one that stands for ~/.ssh. */
export function aPerson() {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'eitri-p-'))
  const sshDir = path.join(dir, 'ssh')
  fs.mkdirSync(sshDir, { mode: 0o700 })
  return {
    dir,
    sshDir,
    write: (name: string, text: string) => fs.writeFileSync(path.join(sshDir, name), text, { mode: 0o600 }),
    /** Folders of connections that are there now. */
    connections: () => fs.readdirSync(dir).filter((name) => name.startsWith('s-')),
    remove: () => fs.rmSync(dir, { recursive: true, force: true }),
  }
}

export type Person = ReturnType<typeof aPerson>

/** Dials as the app does, trusting what is shown and asking nobody, but for what the test says. */
export function dialLab(
  person: Person,
  sshd: { port: number; user: string; keyFile: string },
  over: Partial<OpensshDialOptions> = {},
) {
  const { keyFile, port, user } = sshd
  return dialOpenssh({
    target: targetOf(sshd),
    hops: [],
    proxied: false,
    knownHostsCommand: '',
    typed: { host: '127.0.0.1', port, user, identityFile: keyFile },
    sshDir: person.sshDir,
    runDir: person.dir,
    env: { PATH: process.env['PATH'] },
    judge: async () => ({ print: true }),
    known: async () => [],
    prompts: { secretsOf: () => ({}), passphrases: [] },
    signal: forever,
    ...over,
  })
}
