import { useQuery } from '@tanstack/react-query'
import { queryClient } from '../../api/queries.ts'
import { api } from '../../api/transport.ts'

const keys = {
  tenants: ['settings', 'tenants'] as const,
  store: ['settings', 'store'] as const,
  retention: ['settings', 'retention'] as const,
}

export const useTenants = () =>
  useQuery({ queryKey: keys.tenants, queryFn: async () => (await api.tenants.listTenants({})).tenants })

export const useStoreState = () => useQuery({ queryKey: keys.store, queryFn: () => api.store.getStore({}) })

/** Days; asked for without saying one, it changes nothing. */
export const useRetention = () =>
  useQuery({ queryKey: keys.retention, queryFn: async () => (await api.audit.setAuditRetention({})).days })

export const tenantsChanged = () => queryClient.invalidateQueries({ queryKey: keys.tenants })
export const storeChanged = () => queryClient.invalidateQueries({ queryKey: keys.store })
export const retentionChanged = () => queryClient.invalidateQueries({ queryKey: keys.retention })
