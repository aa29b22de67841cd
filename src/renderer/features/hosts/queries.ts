import { useQuery } from '@tanstack/react-query'
import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import { api } from '../../api/transport.ts'

export const hostQueryKeys = {
  ssh: (host: string) => ['host-ssh', host] as const,
  cache: (host: string, all: boolean) => ['host-cache', host, all] as const,
  caches: (host: string) => ['host-cache', host] as const,
}

/** How it is dialled and which of its keys are trusted; asked again when what it answers with changes. */
export const useShownSsh = (host: Host) =>
  useQuery({
    queryKey: [...hostQueryKeys.ssh(host.id), host.address, host.hostKeyFingerprint],
    queryFn: ({ signal }) => api.hosts.showSsh({ host: host.id }, { signal }),
    enabled: host.kind === 'ssh',
  })

/** What a collection would take from its cache, and what it would leave; asked of the host itself, changes nothing. */
export const useCollectionPlan = (host: Host, all: boolean) =>
  useQuery({
    queryKey: hostQueryKeys.cache(host.id, all),
    queryFn: async ({ signal }) => {
      const { hosts } = await api.images.collectImages({ host: host.id, dryRun: true, all }, { signal })
      return hosts[0]
    },
    enabled: host.link === 'connected',
  })
