import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { keyFile } from '../../../../src/agent/install/authorized-key.ts'
import { letIn } from '../../../../src/agent/install/join.ts'
import { readJoined } from '../../../../src/agent/install/joined-record.ts'
import { agentLayout } from '../../../../src/agent/records/layout.ts'

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'eitri-join-'))
  mkdirSync(join(dir, 'state'))
  mkdirSync(join(dir, 'home'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const home = () => join(dir, 'home')
const blob = (digit: string) => ({
  fleetId: digit.repeat(32),
  publicKey: `ssh-ed25519 ${digit.repeat(68)}`,
  token: digit.repeat(43),
  expiresAt: 1,
})
const enter = (digit: string, gid = process.getgid?.() ?? 0) =>
  letIn(
    blob(digit),
    { user: 'eitri', home: home(), gid, made: false },
    { stateDir: join(dir, 'state'), executable: '/usr/local/bin/eitri-agent', socket: '/run/s' },
    new Date(2026, 1, 3),
    0,
  )
const joined = () => readJoined(agentLayout(join(dir, 'state')).joined)

describe('a join', { skip: process.getuid?.() !== 0 }, () => {
  it('that fails leaves who was in before in, by the same key and with the same note', async () => {
    await enter('a')
    const key = readFileSync(keyFile(home()), 'utf8')
    const noGroup = 2 ** 40
    await expect(enter('b', noGroup)).rejects.toThrow('gid')
    expect(readFileSync(keyFile(home()), 'utf8')).toBe(key)
    expect(await joined()).toMatchObject({ fleet_id: 'a'.repeat(32), token: 'a'.repeat(43) })
  })

  it('that fails where nobody was in leaves no note, for a token is in it', async () => {
    writeFileSync(join(home(), '.ssh'), 'in the way')
    await expect(enter('a')).rejects.toThrow()
    expect(await joined()).toBeUndefined()
  })
})
