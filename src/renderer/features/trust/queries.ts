import { useQuery } from '@tanstack/react-query'
import { queryClient } from '../../api/queries.ts'
import { api } from '../../api/transport.ts'
import { useFleet } from '../../state/use-fleet.ts'

/** Authorities open their keys before they answer, which may ask a keychain. */
const KEYCHAIN_MS = 25_000
const AGAIN_MS = 10_000
const CERTIFICATES = 1000
const PINNED_MS = 300_000

export const trustQueryKeys = {
  all: ['trust'] as const,
  cas: ['trust', 'cas'] as const,
  certificates: ['trust', 'certificates'] as const,
  revoked: ['trust', 'revoked'] as const,
  guests: ['trust', 'guests'] as const,
  pinned: (host: string) => ['pinned-keys', host] as const,
}

const useAgain = () => useFleet((f) => f.feed.state === 'live') && AGAIN_MS

export const useAuthorities = () =>
  useQuery({
    queryKey: trustQueryKeys.cas,
    queryFn: async ({ signal }) => (await api.trust.listCas({}, { signal, timeoutMs: KEYCHAIN_MS })).cas,
    refetchInterval: useAgain(),
  })

/** Newest first, those past their end too. */
export const useCertificates = () =>
  useQuery({
    queryKey: trustQueryKeys.certificates,
    queryFn: async ({ signal }) =>
      (await api.trust.listCertificates({ expired: true, limit: CERTIFICATES }, { signal })).certificates,
    refetchInterval: useAgain(),
  })

export const useRevokedList = () =>
  useQuery({
    queryKey: trustQueryKeys.revoked,
    queryFn: ({ signal }) => api.trust.listRevoked({}, { signal }),
    refetchInterval: useAgain(),
  })

export const useGuestTrust = () =>
  useQuery({
    queryKey: trustQueryKeys.guests,
    queryFn: async ({ signal }) => (await api.trust.listTrust({}, { signal, timeoutMs: KEYCHAIN_MS })).vms,
    refetchInterval: useAgain(),
  })

/** Keys pinned for one host; asks nothing of the host. */
export const usePinnedKeys = (host: string, enabled: boolean) =>
  useQuery({
    queryKey: trustQueryKeys.pinned(host),
    queryFn: async ({ signal }) => (await api.hosts.showSsh({ host }, { signal })).hostKeys,
    enabled,
    staleTime: PINNED_MS,
  })

export const trustChanged = (): Promise<void> => queryClient.invalidateQueries({ queryKey: trustQueryKeys.all })
