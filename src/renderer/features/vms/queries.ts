import { useQuery } from '@tanstack/react-query'
import { api } from '../../api/transport.ts'

export const vmQueryKeys = {
  templates: ['templates'] as const,
  command: (vm: string) => ['vm-command', vm] as const,
}

const WAIT_MS = 28_000
/** After a refusal: a host that did not answer may by then. */
const AGAIN_MS = 10_000

export const useTemplates = () =>
  useQuery({ queryKey: vmQueryKeys.templates, queryFn: () => api.templates.listTemplates({}) })

/** Asks the host each time it is opened: what runs may have changed since. */
export const useVmCommand = (vm: string, enabled: boolean) =>
  useQuery({
    queryKey: vmQueryKeys.command(vm),
    queryFn: ({ signal }) => api.vms.getVmCommand({ vm }, { signal, timeoutMs: WAIT_MS }),
    enabled,
    staleTime: 0,
    retry: false,
    refetchInterval: ({ state }) => state.status === 'error' && AGAIN_MS,
  })
