import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import type { NetworkFinding } from '../../../ipc/gen/eitri/fleet/v1/network_pb.js'
import { api } from '../../api/transport.ts'
import { toastDone, toastFault } from '../../ui/toasts.tsx'
import { foundWords } from './view-model.ts'

async function ask(call: () => Promise<string>, undo?: { label: string; run: () => void }): Promise<void> {
  try {
    toastDone(await call(), undo)
  } catch (error) {
    toastFault(error)
  }
}

export const runPreflight = (host: Host): Promise<void> =>
  ask(async () => foundWords(host.name, (await api.networks.checkNetwork({ host: host.id })).findings))

export const mendFinding = (host: Host, { id }: NetworkFinding): Promise<void> =>
  ask(
    async () => {
      const { findings } = await api.networks.mendNetwork({ host: host.id, findingId: id })
      return findings.some((one) => one.id === id && !one.mended)
        ? `The mend of ${id} is in place on ${host.name}, and something still keeps guests back`
        : `Mended ${id} on ${host.name}`
    },
    { label: 'Undo', run: () => void undoMend(host, { id }) },
  )

export const undoMend = (host: Host, { id }: Pick<NetworkFinding, 'id'>): Promise<void> =>
  ask(async () => {
    await api.networks.mendNetwork({ host: host.id, findingId: id, undo: true })
    return `Took back the mend of ${id} on ${host.name}`
  })
