import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { FAILPOINTS, phasesOf } from '../../src/agent/os/failpoints.ts'
import { within } from '../../src/agent/rpc/deadlines.ts'
import { askStatus } from '../../src/agent/status/agent-status.ts'
import { type AgentVariant, agentVariant, whenServing } from '../support/agent-variant.ts'
import { InstalledAgent } from '../support/installed-agent.ts'

const OLD = agentVariant('1.0.0')
const GOOD = agentVariant('2.0.0')
const DIES = agentVariant('2.0.0', whenServing('console.error("no luck");process.exit(7)'))

/** Reached only on the way back, or by a program that cannot be unpacked. */
const GOING_BACK = ['upgrade.link-back', 'upgrade.drop']
/** Of what a broken transfer leaves, of one refused, and of an agent that finds itself unwatched: see their own tests. */
const ELSEWHERE = ['upgrade.unstage-broken', 'upgrade.discard', 'upgrade.watch-again', 'upgrade.link-settle']

const points = FAILPOINTS.filter((name) => name.startsWith('upgrade.') && !ELSEWHERE.includes(name))
const phaseOf = (name: (typeof points)[number]) => (phasesOf(name).includes('between') ? 'between' : 'before')

/** Offers, and then does what a control plane does: starts an agent that nobody starts, attaches, and waits for its word. */
async function upgradeCutOffAt(place: string, newer: AgentVariant): Promise<string> {
  process.env['EITRI_FAILPOINT'] = place
  const starting = InstalledAgent.install(OLD)
  const agent = await starting.finally(() => delete process.env['EITRI_FAILPOINT'])
  await using _ = agent
  const deadline = AbortSignal.timeout(150_000)
  const session = await agent.attach('1.0.0', deadline)
  const { version, sha256, bytes } = newer
  const staging = session.putAgent(gzipSync(bytes), { sha256, unpackedBytes: bytes.length, gzip: true })
  const stagedPath = await staging.catch(() => undefined)
  if (stagedPath) session.want(1n, [], [], { version, sha256, stagedPath })
  const ended = async () => {
    for (;;) {
      deadline.throwIfAborted()
      const answer = await askStatus(agent.socketPath)
      if (!answer.running) await agent.startAgain().catch(() => {})
      const next = await agent
        .attach(agent.linked.split('/')[0]!, AbortSignal.any([deadline, AbortSignal.timeout(5_000)]))
        .catch(() => undefined)
      const word = next?.report((r) => r.upgrade === undefined || /done|refused|rolled_back/.test(r.upgrade.state))
      const said = word && (await within(25_000, word).catch(() => undefined))
      next?.[Symbol.dispose]()
      if (said) return `${said.upgrade?.state ?? 'nothing'} by ${next?.hello.agentVersion}, linked ${agent.linked}`
    }
  }
  return await ended().finally(() => session[Symbol.dispose]())
}

const RIGHT = [
  'nothing by 1.0.0, linked 1.0.0/eitri-agent',
  'refused by 1.0.0, linked 1.0.0/eitri-agent',
  'rolled_back by 1.0.0, linked 1.0.0/eitri-agent',
  'done by 2.0.0, linked 2.0.0/eitri-agent',
]

describe('an upgrade that is cut off', () => {
  it('at any step ends with one agent that runs, the link on that one, and a word of how it went', async () => {
    const wrong: string[] = []
    for (const name of points) {
      const place = `${name}:${phaseOf(name)}`
      const newer = GOING_BACK.includes(name) ? DIES : GOOD
      const ended = await upgradeCutOffAt(place, newer).catch((error: unknown) => String(error))
      console.log(`${place}: ${ended}`)
      if (!RIGHT.includes(ended)) wrong.push(`${place}: ${ended}`)
    }
    expect(points.length).toBeGreaterThan(12)
    expect(wrong).toEqual([])
  }, 900_000)
})
