import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { FLUSH_PER_TICK, History, HOST, type Look } from '../../../../src/agent/history/history.ts'
import { FILE_LIMIT_BYTES } from '../../../../src/agent/history/history-file.ts'
import { type Failpoint, onHit, type Phase, phasesOf } from '../../../../src/agent/os/failpoints.ts'
import { silentLog } from '../../../../src/ipc/base/log.ts'

const TICK = 10_000
const MINUTE = 60_000
const HOUR = 60 * MINUTE
const START = Date.UTC(2026, 10, 30, 12)

let dir: string
/** The host: which boot, how long it runs, and what its wall clock is off by. */
let boot: string
let uptime: number
let wallAhead: number
let hits: string[]
let history: History

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'eitri-history-'))
  boot = '11111111-1111-4111-8111-111111111111'
  uptime = 5 * MINUTE
  wallAhead = 0
  hits = []
  onHit((point, phase) => hits.push(`${point}:${phase}`))
  history = begin()
})
afterEach(() => {
  onHit(undefined)
  rmSync(dir, { recursive: true, force: true })
})

const fileOf = (subject: string) => join(dir, subject === HOST ? 'history.bin' : join(subject, 'history.bin'))
const begin = () =>
  new History({
    pathOf: fileOf,
    bootId: () => boot,
    uptimeMs: () => uptime,
    now: () => START + uptime + wallAhead,
    log: silentLog,
  })

const aLook = (subject: string, cpuBusyPermille: number): Look => ({
  subject,
  levels: { cpuBusyPermille },
  counters: {},
})

/** Ticks for so long; the value of each is the minute it is in unless one is given. */
async function run(forMs: number, { value, vms = [] }: { value?: number; vms?: string[] } = {}) {
  for (const until = uptime + forMs; uptime < until; uptime += TICK) {
    const now = value ?? Math.floor(uptime / MINUTE)
    history.record(
      [HOST, ...vms].map((subject) => aLook(subject, now)),
      new Set([HOST, ...vms]),
    )
    await history.idle()
  }
}

const writes = () => hits.filter((hit) => hit === 'history.append:after' || hit === 'history.rewrite:after').length
const ask = async (subject = HOST, spanMs = HOUR, samples = 1440) => await history.ask(subject, spanMs, samples)
const told = async (subject = HOST, spanMs = HOUR) =>
  (await ask(subject, spanMs)).steps.map(({ atMs, sample }) => [atMs - START, sample.cpuBusyPermille])

describe('what an agent remembers of its host', () => {
  it('is each ten seconds for an hour while it runs, and minutes for a day', async () => {
    await run(2 * HOUR)
    const hour = await ask(HOST, HOUR)
    expect([hour.stepMs, hour.steps.length]).toEqual([TICK, 359])
    const day = await ask(HOST, 24 * HOUR)
    expect([day.stepMs, day.steps.length]).toEqual([MINUTE, 120])
    expect(day.steps[0]).toMatchObject({ atMs: START + 5 * MINUTE, sample: { cpuBusyPermille: 5 } })
  })

  it('is asked in as few samples as a screen wants', async () => {
    await run(2 * HOUR)
    const { stepMs, steps } = await ask(HOST, 24 * HOUR, 144)
    expect([stepMs, steps.length <= 144]).toEqual([10 * MINUTE, true])
  })

  it('is written once in ten minutes, so that an idle host does not wear its disk', async () => {
    await run(24 * HOUR)
    expect(writes()).toBeLessThanOrEqual(145)
    expect(writes()).toBeGreaterThanOrEqual(140)
  })

  it('takes no more than 36 KB of disk however long it runs', async () => {
    await run(60 * HOUR, { value: 3 })
    expect(statSync(fileOf(HOST)).size).toBeLessThanOrEqual(FILE_LIMIT_BYTES)
    expect(FILE_LIMIT_BYTES).toBeLessThan(37_500)
    expect((await ask(HOST, 24 * HOUR)).steps.length).toBe(1439)
  })
})

describe('an agent that starts again', () => {
  it('has all of the time before when it was asked to end', async () => {
    await run(30 * MINUTE)
    await history.stop()
    history = begin()
    uptime += MINUTE
    await run(2 * MINUTE)
    const all = await ask()
    expect(all.stepMs).toBe(MINUTE)
    expect((await told()).map(([at]) => at! / MINUTE)).toEqual([
      ...Array.from({ length: 30 }, (_, i) => 5 + i),
      ...[36, 37],
    ])
  })

  it('has lost ten minutes at most when it was killed', async () => {
    await run(35 * MINUTE)
    history = begin()
    await run(MINUTE)
    expect((await told()).map(([at]) => at! / MINUTE)).toEqual([...Array.from({ length: 30 }, (_, i) => 5 + i), 40])
  })

  it('after a reboot shows how long the host was off as a gap', async () => {
    await run(20 * MINUTE)
    await history.stop()
    const off = 12 * MINUTE
    wallAhead += uptime + off - MINUTE
    boot = '22222222-2222-4222-8222-222222222222'
    uptime = MINUTE
    history = begin()
    await run(2 * MINUTE, { value: 99 })
    const minutes = (await told()).map(([at]) => Math.round(at! / MINUTE))
    expect(minutes).toEqual([...Array.from({ length: 20 }, (_, i) => 5 + i), 37, 38])
  })

  it('is not misled by a wall clock that goes back over a reboot: what was measured stays before the boot', async () => {
    await run(20 * MINUTE)
    await history.stop()
    boot = '22222222-2222-4222-8222-222222222222'
    wallAhead = -3 * HOUR
    uptime = 10 * MINUTE
    history = begin()
    await run(MINUTE, { value: 99 })
    const now = START + uptime + wallAhead
    const ages = (await ask(HOST, 24 * HOUR)).steps.map(({ atMs }) => Math.round((now - atMs) / MINUTE))
    expect(ages[0]).toBe(31)
    expect(ages.slice(-2)).toEqual([12, 1])
  })
})

describe('a wall clock that jumps while the agent runs', () => {
  it('moves no sample against another: each stays as long ago as it is', async () => {
    await run(20 * MINUTE)
    wallAhead = 2 * HOUR
    await run(5 * MINUTE)
    const steps = await told()
    expect(steps.length).toBe(150)
    const gaps = steps.slice(1).map(([at], i) => at! - steps[i]![0]!)
    expect(new Set(gaps)).toEqual(new Set([TICK]))
    expect((await ask(HOST, 24 * HOUR)).steps.length).toBe(25)
  })

  it('leaves the time a host slept empty, and knows no rate across it', async () => {
    await run(5 * MINUTE)
    uptime += 20 * MINUTE
    await run(5 * MINUTE)
    expect((await told()).length).toBe(60)
  })
})

describe('a VM', () => {
  const VM = 'a'.repeat(32)

  it('has a history of its own beside its disk, which goes with it', async () => {
    mkdirSync(join(dir, VM))
    await run(15 * MINUTE, { vms: [VM] })
    expect(existsSync(fileOf(VM))).toBe(true)
    rmSync(join(dir, VM), { recursive: true })
    await run(25 * MINUTE)
    expect(existsSync(join(dir, VM))).toBe(false)
    expect((await ask(VM)).steps).toEqual([])
  })

  it('that does not run leaves a gap and is written nowhere', async () => {
    mkdirSync(join(dir, VM))
    history.record([aLook(HOST, 1)], new Set([HOST, VM]))
    for (const until = uptime + HOUR; uptime < until; uptime += TICK) {
      history.record([aLook(HOST, 1)], new Set([HOST, VM]))
      await history.idle()
    }
    expect(existsSync(fileOf(VM))).toBe(false)
    expect((await ask(VM)).steps).toEqual([])
  })

  it('beside a thousand others waits its turn: so many are written at one tick', async () => {
    const vms = Array.from({ length: 120 }, (_, i) => String(i).padStart(32, '0'))
    for (const vm of vms) mkdirSync(join(dir, vm))
    await run(10 * MINUTE, { vms })
    let most = 0
    for (let tick = 0; tick < 6; tick++) {
      const before = writes()
      await run(TICK, { vms })
      await history.ask(HOST, 24 * HOUR, 2)
      most = Math.max(most, writes() - before)
    }
    expect(most).toBeGreaterThan(0)
    expect(most).toBeLessThanOrEqual(FLUSH_PER_TICK)
    expect(vms.every((vm) => existsSync(fileOf(vm)))).toBe(true)
  })
})

describe('a damaged file', () => {
  it('of nothing of ours goes aside, and a new one is begun', async () => {
    writeFileSync(fileOf(HOST), 'not a history')
    await run(15 * MINUTE)
    await history.stop()
    expect(readFileSync(join(dir, 'history.damaged'), 'utf8')).toBe('not a history')
    history = begin()
    await run(TICK)
    expect((await told(HOST, 24 * HOUR)).length).toBe(16)
  })

  it('torn at its end keeps what is whole, and goes on behind that', async () => {
    await run(25 * MINUTE)
    await history.stop()
    truncateSync(fileOf(HOST), statSync(fileOf(HOST)).size - 7)
    history = begin()
    await run(15 * MINUTE)
    await history.stop()
    history = begin()
    const minutes = (await told(HOST, 24 * HOUR)).map(([at]) => at! / MINUTE)
    expect(minutes).toEqual(minutes.toSorted((a, b) => a - b))
    expect(minutes).toContain(5)
    expect(minutes).toContain(44)
    expect(minutes.length).toBeGreaterThanOrEqual(35)
  })

  it('with a flipped bit says nothing of what is behind it', async () => {
    await run(25 * MINUTE)
    await history.stop()
    const bytes = readFileSync(fileOf(HOST))
    bytes[60]! ^= 1
    writeFileSync(fileOf(HOST), bytes)
    history = begin()
    expect((await ask(HOST, 24 * HOUR)).steps).toEqual([])
  })
})

describe('a disk that takes nothing', () => {
  it('keeps minutes in memory, says only what is, and writes them once there is room', async () => {
    let full = true
    onHit((point) => {
      if (full && point === 'history.open') throw Object.assign(new Error('no space'), { code: 'ENOSPC' })
    })
    await run(40 * MINUTE)
    expect(existsSync(fileOf(HOST))).toBe(false)
    expect((await ask(HOST, 24 * HOUR)).steps.length).toBe(40)
    full = false
    await run(MINUTE)
    expect(statSync(fileOf(HOST)).size).toBeGreaterThan(40 * 16)
  })

  it('for days keeps two hours, and leaves the time before as a gap', async () => {
    onHit((point) => {
      if (point === 'history.open') throw Object.assign(new Error('no space'), { code: 'ENOSPC' })
    })
    await run(5 * HOUR)
    const { steps } = await ask(HOST, 24 * HOUR)
    expect(steps.length).toBeGreaterThanOrEqual(120)
    expect(steps.length).toBeLessThanOrEqual(122)
  })
})

describe('an agent that dies at any step of writing', () => {
  const STEPS: Failpoint[] = ['history.open', 'history.append', 'history.aside', 'history.rewrite']

  // An opened file that nothing was written to yet: what the next step begins with.
  const places = STEPS.flatMap((point) => phasesOf(point).map((phase) => [point, phase] as const)).filter(
    ([point, phase]) => point !== 'history.open' || phase === 'before',
  )

  it.each(places)(
    '%s:%s comes back with a file that can be read and goes on',
    async (point: Failpoint, phase: Phase) => {
      if (point === 'history.aside') writeFileSync(fileOf(HOST), 'not a history')
      if (point === 'history.rewrite') {
        await run(15 * MINUTE)
        await history.stop()
        truncateSync(fileOf(HOST), statSync(fileOf(HOST)).size - 1)
        history = begin()
      }
      let died = false
      onHit((at, when) => {
        hits.push(`${at}:${when}`)
        if (at !== point || when !== phase || died) return
        died = true
        throw new Error('killed')
      })
      await run(12 * MINUTE)
      expect(died).toBe(true)
      history = begin()
      await run(15 * MINUTE)
      await history.stop()
      history = begin()
      const steps = await told(HOST, 24 * HOUR)
      expect(steps.length).toBeGreaterThanOrEqual(15)
      expect(new Set(steps.map(([at]) => at)).size).toBe(steps.length)
    },
  )
})
