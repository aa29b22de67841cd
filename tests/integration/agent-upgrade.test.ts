import { createHash } from 'node:crypto'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { create } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import type { Report } from '../../src/ipc/gen/eitri/agent/v1/sync_pb.js'
import { VmSpecSchema } from '../../src/ipc/gen/eitri/agent/v1/vm_pb.js'
import type { Session } from '../support/agent-process.ts'
import { type AgentVariant, agentVariant, whenServing } from '../support/agent-variant.ts'
import { bootSector, SECTOR_BANNER } from '../support/boot-sector.ts'
import { InstalledAgent } from '../support/installed-agent.ts'

const VM = 'c0ffee00c0ffee00c0ffee00c0ffee01'
const IMAGE = bootSector()
const IMAGE_SHA = createHash('sha256').update(IMAGE).digest('hex')
const SPEC = create(VmSpecSchema, {
  ...{ vmId: VM, name: 'sector', imageSha256: IMAGE_SHA, vcpus: 1, memMb: 64, diskGb: 1 },
  ...{ persistent: true, powerState: 'running' },
})
const OLD = agentVariant('1.0.0')

const upgraded = (state: string) => (report: Report) => report.upgrade?.state === state
const consoleEnd = (report: Report) => report.vms.find((vm) => vm.vmId === VM)?.consoleEnd ?? 0n

/** An installed agent of 1.0.0 with a guest that runs, and what must stay of it. */
async function withGuest() {
  const agent = await InstalledAgent.install(OLD)
  const session = await agent.attach('1.0.0', AbortSignal.timeout(20_000))
  session.want(1n, [SPEC])
  await session.report((r) => r.wantedImages.length > 0)
  await session.push(IMAGE, IMAGE_SHA)
  await session.report((r) => r.vms.some((vm) => vm.power === 'running' && vm.phase === 'ready'))
  await session.console(VM, SECTOR_BANNER, 1)
  await session.console(VM, 'before', 1, 'before')
  const [pid = 0] = agent.hypervisors()
  expect(pid).toBeGreaterThan(0)
  const end = consoleEnd(await session.report((r) => consoleEnd(r) > 0n))
  return { agent, session, pid, end }
}

async function offer(session: Session, { version, bytes, sha256 }: AgentVariant): Promise<void> {
  const stagedPath = await session.putAgent(gzipSync(bytes), { sha256, unpackedBytes: bytes.length, gzip: true })
  session.want(2n, [SPEC], [], { version, sha256, stagedPath })
  await session.report((r) => r.lastSeenEpoch === 2n)
}

/** The same process, and a console that goes on where it was. */
async function guestIsUntouched(agent: InstalledAgent, session: Session, pid: number, end: bigint): Promise<void> {
  expect(agent.hypervisors()).toEqual([pid])
  const console = await session.console(VM, 'after', 1, 'after')
  expect(console).toContain(SECTOR_BANNER)
  expect(console.indexOf('before')).toBeLessThan(console.indexOf('after'))
  expect(console.split(SECTOR_BANNER)).toHaveLength(2)
  expect(consoleEnd(await session.report((r) => consoleEnd(r) > end))).toBeGreaterThan(end)
}

describe('an agent that is offered a newer one', { timeout: 180_000 }, () => {
  it('gives way to a good one, which takes over its guest and says so', async () => {
    const { agent, session, pid, end } = await withGuest()
    await using _ = agent
    const newer = agentVariant('2.0.0')
    await offer(session, newer)
    session[Symbol.dispose]()
    using next = await agent.attach('2.0.0', AbortSignal.timeout(60_000))
    expect(next.hello).toMatchObject({ agentDigest: newer.digest, features: expect.arrayContaining(['upgrade']) })
    const { upgrade } = await next.report(upgraded('done'))
    expect(upgrade).toMatchObject({ version: '2.0.0', sha256: newer.sha256, detail: '' })
    expect(agent.linked).toBe('2.0.0/eitri-agent')
    expect(agent.versions).toEqual(['1.0.0', '2.0.0'])
    await guestIsUntouched(agent, next, pid, end)
  })

  it('keeps on without a change when what was sent is cut short or is another file', async () => {
    const { agent, session, pid, end } = await withGuest()
    await using _ = agent
    const newer = agentVariant('2.0.0')
    const running = await agent.pid()
    const half = newer.bytes.subarray(0, newer.bytes.length / 2)
    const sent = { sha256: newer.sha256, unpackedBytes: newer.bytes.length, gzip: true }
    await expect(session.putAgent(gzipSync(half), sent)).rejects.toThrow(/bytes came/)
    await expect(session.putAgent(gzipSync(newer.bytes).subarray(0, 5_000), sent)).rejects.toThrow(/unpacked/)
    await expect(session.putAgent(gzipSync(OLD.bytes), { ...sent, unpackedBytes: OLD.bytes.length })).rejects.toThrow(
      /another SHA-256/,
    )

    const stagedPath = join(agent.home, 'staged')
    let epoch = 2n
    for (const bytes of [half, OLD.bytes]) {
      writeFileSync(stagedPath, bytes)
      const path = `${stagedPath}-${epoch}`
      writeFileSync(path, bytes)
      session.want(epoch++, [SPEC], [], { version: '2.0.0', sha256: newer.sha256, stagedPath: path })
      const { upgrade } = await session.report((r) => upgraded('refused')(r) && r.lastSeenEpoch === epoch - 1n)
      expect(upgrade?.detail).toMatch(/its SHA-256 is [0-9a-f]{12}…, offered was/)
    }
    expect(await agent.pid()).toBe(running)
    expect(agent.linked).toBe('1.0.0/eitri-agent')
    expect(agent.versions).toEqual(['1.0.0'])
    await guestIsUntouched(agent, session, pid, end)
    session[Symbol.dispose]()
  })

  it('comes back by itself when the new one starts and dies, and says what that said', async () => {
    const { agent, session, pid, end } = await withGuest()
    await using _ = agent
    await offer(session, agentVariant('2.0.0', whenServing('console.error("no luck today");process.exit(7)')))
    session[Symbol.dispose]()
    const { session: back, report } = await agent.settled('rolled_back', AbortSignal.timeout(60_000))
    using _back = back
    expect(back.hello.agentVersion).toBe('1.0.0')
    const { upgrade } = report
    expect(upgrade).toMatchObject({ version: '2.0.0', detail: 'it ended: no luck today' })
    expect(agent.linked).toBe('1.0.0/eitri-agent')
    expect(agent.versions).toEqual(['1.0.0'])
    await guestIsUntouched(agent, back, pid, end)
    back.want(3n, [SPEC], [], { version: '2.0.0', sha256: upgrade!.sha256, stagedPath: join(agent.stateDir, 'none') })
    await back.report((r) => upgraded('refused')(r) && r.lastSeenEpoch === 3n)
  })

  it('comes back by itself when the new one hangs and heeds no signal', async () => {
    const { agent, session, pid, end } = await withGuest()
    await using _ = agent
    const hang = whenServing('process.on("SIGTERM",()=>{});setInterval(()=>{},1e9);return')
    await offer(session, agentVariant('2.0.0', hang))
    session[Symbol.dispose]()
    const { session: back, report } = await agent.settled('rolled_back', AbortSignal.timeout(120_000))
    using _back = back
    expect(back.hello.agentVersion).toBe('1.0.0')
    const { upgrade } = report
    expect(upgrade?.detail).toBe('it did not answer within 60 s')
    expect(agent.linked).toBe('1.0.0/eitri-agent')
    await guestIsUntouched(agent, back, pid, end)
  })

  it('runs nothing of one that does not get through its own look at this host', async () => {
    const { agent, session, pid, end } = await withGuest()
    await using _ = agent
    const running = await agent.pid()
    await offer(session, agentVariant('2.0.0', 'if(process.argv.includes("selfcheck")){process.exit(3)}\n'))
    const { upgrade } = await session.report(upgraded('refused'))
    expect(upgrade?.detail).toBe('its look at itself ended with 3')
    expect(await agent.pid()).toBe(running)
    expect(existsSync(join(agent.stateDir, 'staged'))).toBe(true)
    await guestIsUntouched(agent, session, pid, end)
    session[Symbol.dispose]()
  })
})
