import { create } from 'zustand'
import { fromConnectError } from '../../../ipc/fault-wire.ts'
import type { FaultData } from '../../../ipc/faults.ts'
import type { Port, PortProbe } from '../../../ipc/gen/eitri/fleet/v1/port_pb.js'
import { api } from '../../api/transport.ts'

/** What the last try of a port found. */
export type Probed =
  | { state: 'running' }
  | { state: 'done'; at: number; probes: PortProbe[] }
  | { state: 'failed'; at: number; fault: FaultData }

/** Tries at once, and results kept. */
const AT_ONCE = 4
const KEPT = 2000

const useResults = create<{ results: ReadonlyMap<string, Probed> }>(() => ({ results: new Map() }))

export const useProbed = (id: string): Probed | undefined => useResults((s) => s.results.get(id))
export const probedOf = (id: string): Probed | undefined => useResults.getState().results.get(id)

function put(id: string, probed: Probed): void {
  const results = new Map(useResults.getState().results)
  results.delete(id)
  results.set(id, probed)
  for (const oldest of results.keys()) {
    if (results.size <= KEPT) break
    results.delete(oldest)
  }
  useResults.setState({ results })
}

/** Tries it from this computer and from its host; the result stands beside it. */
export async function probe({ id }: Port): Promise<void> {
  if (probedOf(id)?.state === 'running') return
  put(id, { state: 'running' })
  try {
    const { probes } = await api.ports.probePort({ id })
    put(id, { state: 'done', at: Date.now(), probes })
  } catch (error) {
    put(id, { state: 'failed', at: Date.now(), fault: fromConnectError(error).toData() })
  }
}

/** A few at a time, in order. */
export async function probeAll(ports: readonly Port[]): Promise<void> {
  const left = [...ports]
  const worker = async () => {
    for (let port = left.shift(); port; port = left.shift()) await probe(port)
  }
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, left.length) }, worker))
}
