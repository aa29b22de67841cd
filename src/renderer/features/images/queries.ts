import { useQuery } from '@tanstack/react-query'
import { api } from '../../api/transport.ts'

const imageQueryKeys = {
  catalogue: ['image-catalogue'] as const,
  unused: (all: boolean) => ['image-collection', all] as const,
}

/** Data of this app; asks no publisher. */
export const useCatalogue = () =>
  useQuery({ queryKey: imageQueryKeys.catalogue, queryFn: () => api.images.listCatalogue({}), staleTime: 2_000 })

/** What hosts would remove from their caches now; nothing goes. */
export const useUnused = (all: boolean) =>
  useQuery({
    queryKey: imageQueryKeys.unused(all),
    queryFn: ({ signal }) => api.images.collectImages({ host: '', dryRun: true, all }, { signal }),
    staleTime: 0,
    gcTime: 0,
    retry: false,
  })
