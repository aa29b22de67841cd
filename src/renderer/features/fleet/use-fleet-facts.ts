import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { queryKeys } from '../../api/queries.ts'
import { api } from '../../api/transport.ts'
import { useNow } from '../../state/now.ts'
import { useScopedHosts, useScopedPorts, useScopedVms } from '../../state/scope.ts'
import { useTasks } from '../../state/use-fleet.ts'
import { useAuthorities } from '../trust/queries.ts'
import type { FleetFacts } from './need.ts'

/** A store that goes bad is told by nobody else. */
const INFO_AGAIN_MS = 30_000

/** The part of the fleet in scope, as the page judges it. */
export function useFleetFacts(): FleetFacts {
  const hosts = useScopedHosts()
  const vms = useScopedVms()
  const tasks = useTasks()
  const ports = useScopedPorts()
  const { data: info } = useQuery({
    queryKey: queryKeys.info,
    queryFn: () => api.fleet.getInfo({}),
    refetchInterval: INFO_AGAIN_MS,
  })
  const { data: cas } = useAuthorities()
  const nowMs = useNow()
  return useMemo(
    () => ({ hosts, vms, tasks, ports, cas, storeProblem: info?.storeProblem ?? '', nowMs }),
    [hosts, vms, tasks, ports, cas, info, nowMs],
  )
}
