import { QueryClient, useQuery } from '@tanstack/react-query'
import { useFleet } from '../state/use-fleet.ts'
import { api } from './transport.ts'

export const queryClient = new QueryClient({
  defaultOptions: { queries: { retry: 1, staleTime: 10_000, refetchOnWindowFocus: true } },
})

export const queryKeys = {
  info: ['info'] as const,
  audit: (about: { vm: string; host: string; limit: number }) => ['audit', about] as const,
}

export const useInfo = () => useQuery({ queryKey: queryKeys.info, queryFn: () => api.fleet.getInfo({}) })

/** Newest first; asked again when the fleet changes, at most every ten seconds. */
export function useAudit(about: { vm?: string; host?: string } = {}, limit = 200) {
  const { vm = '', host = '' } = about
  const live = useFleet((f) => f.feed.state === 'live')
  return useQuery({
    queryKey: queryKeys.audit({ vm, host, limit }),
    queryFn: () => api.audit.listAudit({ vm, host, limit }),
    refetchInterval: live ? 10_000 : false,
  })
}
