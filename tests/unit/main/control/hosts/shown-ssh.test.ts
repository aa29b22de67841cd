import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { commandOf, shownOfHost, shownOfWay } from '../../../../../src/main/control/hosts/shown-ssh.ts'
import type { RunLocal } from '../../../../../src/main/control/hosts/ssh/config-reader.ts'
import type { HostRow, HostSsh } from '../../../../../src/main/control/store/host-row.ts'

const folders: string[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})
function sshDir(config: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'shown-ssh-'))
  folders.push(folder)
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'config'), config)
  return folder
}
const hostKeys = { list: () => [] }
const SSH: HostSsh = {
  host: '10.0.2.7',
  port: 2222,
  user: 'ops',
  identityFile: '',
  hostname: 'rack2-07',
  useSudo: true,
}
const row = (ssh: HostSsh | null, credential: HostRow['credential'] = 'login') => ({ ssh, credential }) as HostRow

describe('the way to a host of the fleet', () => {
  it('is what its row dials, with the line for a shell', () => {
    const hops = [
      {
        ...SSH,
        hostname: 'bastion',
        host: '10.0.0.1',
        port: 22,
        identityFiles: [],
        knownHostsFiles: [],
        identitiesOnly: false,
      },
    ]
    const shown = shownOfHost({ hostKeys }, row({ ...SSH, hops }))
    expect(shown).toMatchObject({ address: '10.0.2.7', port: 2222, user: 'ops', jump: ['ops@10.0.0.1'] })
    expect(shown?.command).toBe('ssh -p 2222 -J ops@10.0.0.1 ops@rack2-07')
    expect(shown?.sshClient).toBe('ssh2')
  })

  it('is none for this computer, and no line for a shell where only this store has the key', () => {
    expect(shownOfHost({ hostKeys }, row(null))).toBeUndefined()
    const joined = shownOfHost({ hostKeys }, row({ ...SSH, identityFile: 'own key' }, 'key'))
    expect(joined).toMatchObject({ command: '', identityFiles: [] })
  })

  it('asks for the keys filed under its alias without a port', () => {
    const asked: unknown[] = []
    const list = (host: string, port: number) => {
      asked.push([host, port])
      return []
    }
    const keys = { list }
    shownOfHost({ hostKeys: keys }, row({ ...SSH, hostKeyName: 'rack' }))
    shownOfHost({ hostKeys: keys }, row(SSH))
    expect(asked).toEqual([
      ['rack', 22],
      ['10.0.2.7', 2222],
    ])
  })
})

describe('the way a person typed', () => {
  const how = (mayRun: boolean) => ({ mayRun, signal: AbortSignal.timeout(5000) })
  const G = 'hostname 10.0.2.7\nport 2222\nuser ops\nidentityfile none\n'
  const reading = (config: string) => {
    const ran: string[][] = []
    const run: RunLocal = async (_program, args) => {
      ran.push([...args])
      return { code: 0, stdout: args.includes('-G') ? G : '', stderr: '' }
    }
    return { ran, deps: { sshDir: sshDir(config), env: {}, hostKeys, run } }
  }

  it('is not read while that would run commands of the configuration', async () => {
    const { ran, deps } = reading('Match exec "true"\n  User x\n')
    expect(await shownOfWay(deps, { host: 'rack2-07' }, how(false))).toBeUndefined()
    expect(ran).toEqual([])
    expect(await shownOfWay(deps, { host: 'rack2-07' }, how(true))).toMatchObject({ address: '10.0.2.7', port: 2222 })
  })

  it('refuses what is no host before anything is asked', async () => {
    const deps = { sshDir: sshDir(''), env: {}, hostKeys }
    await expect(shownOfWay(deps, { host: '-oProxyCommand=id' }, how(true))).rejects.toMatchObject({
      code: 'input/invalid',
    })
  })
})

describe('the line for a shell', () => {
  it('names only what differs from what ssh does by itself, and quotes what a shell would read', () => {
    const dialled = { name: 'rack', user: 'ops', port: 22, identityFile: '', jump: [] }
    expect(commandOf(dialled)).toBe('ssh ops@rack')
    expect(commandOf({ ...dialled, identityFile: '/home/a b/key' })).toBe("ssh -i '/home/a b/key' ops@rack")
  })
})
