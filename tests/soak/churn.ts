import { isDeepStrictEqual } from 'node:util'
import { AgentProcess } from '../support/agent-process.ts'
import { type Holdings, ManyVms } from '../support/many-vms.ts'

export interface ChurnSize {
  vms: number
  /** One VM is deleted and made again this often, or for this long. */
  until: { rounds: number } | { ms: number }
}

/** Many guests at once, all to their prompt; then one is deleted and made again, over and over, and nothing creeps. */
export async function churn({ vms, until }: ChurnSize, say: (line: string) => void): Promise<void> {
  await using agent = new AgentProcess()
  await agent.start()
  using fleet = await ManyVms.open(agent)
  // The first VM opens what stays open.
  const [first] = fleet.create(1)
  await fleet.running()
  await fleet.prompt(first!)
  await fleet.purge(fleet.ids)
  const empty = await fleet.holdings()
  const started = performance.now()
  const seconds = () => Math.round((performance.now() - started) / 100) / 10
  const ids = fleet.create(vms)
  await fleet.running()
  say(`${vms} VMs run after ${seconds()} s`)
  for (const id of ids) await fleet.prompt(id)
  say(`${vms} VMs show their prompt after ${seconds()} s`)

  let [current] = ids
  const again = async () => {
    await fleet.purge([current!])
    ;[current] = fleet.create(1)
    await fleet.running()
  }
  const before = await fleet.holdings()
  const stop = performance.now() + ('ms' in until ? until.ms : Number.POSITIVE_INFINITY)
  let rounds = 0
  while (performance.now() < stop && ('ms' in until || rounds < until.rounds)) {
    await again()
    rounds++
  }
  const after = await fleet.holdings()
  say(`one VM deleted and made again ${rounds} times; before ${words(before)}; after ${words(after)}`)
  if (!isSame(after, before, vms)) throw new Error(`before there were ${words(before)}, after ${words(after)}`)
  await fleet.purge(fleet.ids)
  const left = await fleet.holdings()
  say(`before the first VM ${words(empty)}; after the last ${words(left)}`)
  if (!isSame(left, empty, 0))
    throw new Error(`of deleted VMs there is left: ${words(left)} where there were ${words(empty)}`)
}

/** A guest that runs may be asked something just now, over a descriptor that lives for some seconds. */
const isSame = (one: Holdings, other: Holdings, guests: number): boolean =>
  isDeepStrictEqual({ ...one, agentFds: 0 }, { ...other, agentFds: 0 }) &&
  Math.abs(one.agentFds - other.agentFds) <= guests

const words = (counts: object): string =>
  Object.entries(counts)
    .map(([name, count]) => `${count} ${name}`)
    .join(', ')

/** Forty guests, five minutes. */
export const soakChurn = (say: (line: string) => void) => churn({ vms: 40, until: { ms: 300_000 } }, say)
