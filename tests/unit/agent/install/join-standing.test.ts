import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { KEY_AGE_MS, keyFile, keyLine } from '../../../../src/agent/install/authorized-key.ts'
import { JoinStanding } from '../../../../src/agent/install/join-standing.ts'
import { readJoined, writeJoined } from '../../../../src/agent/install/joined-record.ts'
import { writeDurable } from '../../../../src/agent/os/files.ts'
import { silentLog } from '../../../../src/ipc/base/log.ts'

const FLEET = 'f'.repeat(32)
const NOW = Date.UTC(2026, 0, 2)
const DAY = 24 * 3600_000
let dir: string
let now: number

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'eitri-joined-'))
  mkdirSync(join(dir, 'home'))
  now = NOW
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const path = () => join(dir, 'joined.json')

async function joined(change: { user_made?: boolean } = {}) {
  await writeJoined(path(), {
    ...{ fleet_id: FLEET, token: 'secret', public_key: 'ssh-ed25519 AAAA', user: 'eitri', home: join(dir, 'home') },
    ...{ user_made: false, gid: process.getgid?.() ?? 0, executable: '/usr/local/bin/eitri-agent', socket: '/run/s' },
    ...{ expires_at: new Date(NOW + 60_000).toISOString(), joined_at: new Date(NOW).toISOString(), ...change },
  })
  const clock = { now: () => now, monotonic: () => now, sleep: async () => {} }
  return new JoinStanding({ path: path(), files: { writeDurable }, clock, log: silentLog })
}

const line = () => readFileSync(keyFile(join(dir, 'home')), 'utf8')

describe('the key of a host that joined', { skip: process.getuid?.() !== 0 }, () => {
  it('is one line that lets it do one thing until its date', () => {
    const text = keyLine({
      ...{ home: '/h', publicKey: 'ssh-ed25519 AAAA', fleetId: FLEET, executable: '/a b', socket: "/it's" },
      expiresAt: new Date(2026, 1, 3, 4, 5, 6),
    })
    expect(text).toBe(
      `restrict,expiry-time="20260203040506",command="'/a b' rpc --stdio --socket '/it'\\\\''s'" ssh-ed25519 AAAA eitri-fleet-${FLEET}\n`,
    )
  })

  it('gives its token to the fleet it is of and to no other, and to nobody once that was in good standing', async () => {
    const standing = await joined()
    expect(await standing.token('e'.repeat(32))).toBe('')
    expect(await standing.token(FLEET)).toBe('secret')
    standing.standing(FLEET)
    await expect.poll(() => readJoined(path())).toMatchObject({ token: '' })
    expect(await standing.token(FLEET)).toBe('')
  })

  it('goes on for thirty days from when it is first used, and once a day after that', async () => {
    const standing = await joined()
    await standing.token(FLEET)
    standing.standing(FLEET)
    await expect.poll(() => standing.endsAt()?.seconds).toBe(BigInt((NOW + KEY_AGE_MS) / 1000))
    const first = line()
    now += DAY - 1
    standing.standing(FLEET)
    await standing.token(FLEET)
    expect(line()).toBe(first)
    now += 1
    standing.standing(FLEET)
    await expect.poll(() => standing.endsAt()?.seconds).toBe(BigInt((NOW + DAY + KEY_AGE_MS) / 1000))
    expect(line()).not.toBe(first)
  })

  it('is not renewed for another fleet', async () => {
    const standing = await joined()
    await standing.token(FLEET)
    standing.standing('e'.repeat(32))
    await standing.drop()
    expect(existsSync(keyFile(join(dir, 'home')))).toBe(false)
  })

  it('dropped while its session goes on, it is not put back by what the session does meanwhile', async () => {
    const standing = await joined()
    await standing.token(FLEET)
    const dropped = standing.drop()
    standing.standing(FLEET)
    expect(await dropped).toBe(true)
    expect(await standing.drop()).toBe(false)
    expect(existsSync(keyFile(join(dir, 'home')))).toBe(false)
  })

  it('dropped, it is gone, and only who made its login is still known', async () => {
    const standing = await joined({ user_made: true })
    await standing.token(FLEET)
    standing.standing(FLEET)
    await expect.poll(() => existsSync(keyFile(join(dir, 'home')))).toBe(true)
    expect(await standing.drop()).toBe(true)
    expect(existsSync(keyFile(join(dir, 'home')))).toBe(false)
    expect(standing.endsAt()).toBeUndefined()
    expect(await readJoined(path())).toMatchObject({ user_made: true, token: '', public_key: '' })
    const other = await joined()
    expect(await other.drop()).toBe(true)
    expect(await other.drop()).toBe(false)
  })
})
