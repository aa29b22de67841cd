import { useQuery } from '@tanstack/react-query'
import { queryClient } from '../../api/queries.ts'
import { api } from '../../api/transport.ts'
import { inTurn } from './in-turn.ts'
import { type History, joined, sampleOf, tailOf } from './series.ts'

/** Whose history. */
export type Subject = { host: string } | { vm: string }

export interface Wanted {
  spanMs: number
  samples: number
}

/** What is measured comes every ten seconds; asking more often shows nothing more. */
const LEAST_REFRESH_MS = 10_000
/** The curves of a list are asked for one after the other, and not again before this, ms. */
const SPARK_REFRESH_MS = 60_000
const SPARK = { spanMs: 3_600_000, samples: 60 } as const

const keyOf = (subject: Subject, { spanMs, samples }: Wanted) => ['history', subject, spanMs, samples] as const

async function fetchHistory(subject: Subject, wanted: Wanted, signal: AbortSignal): Promise<History> {
  const known = queryClient.getQueryData<History>(keyOf(subject, wanted))
  const tail = tailOf(known, Date.now())
  if (known && tail) {
    const whole = joined(known, await askHistory(subject, tail, signal))
    if (whole) return whole
  }
  return await askHistory(subject, { spanS: wanted.spanMs / 1000, samples: wanted.samples }, signal)
}

async function askHistory(subject: Subject, span: { spanS: number; samples: number }, signal: AbortSignal) {
  const { stepS, samples } = await api.metrics.getHistory({ ...subject, ...span }, { signal })
  return { stepMs: stepS * 1000, samples: samples.map(sampleOf), spanMs: span.spanS * 1000, askedAt: Date.now() }
}

/** Kept by the host: asked for once, then only for what is newer. `isLive` false = nobody looks, or nobody would answer. */
export function useHistory(subject: Subject, wanted: Wanted, isLive: boolean) {
  return useQuery({
    queryKey: keyOf(subject, wanted),
    queryFn: ({ signal }) => fetchHistory(subject, wanted, signal),
    enabled: isLive,
    staleTime: LEAST_REFRESH_MS,
    refetchInterval: ({ state }) => Math.max(LEAST_REFRESH_MS, state.data?.stepMs ?? 0),
    // Of the same host or VM alone: another's numbers are nobody's placeholder.
    placeholderData: (before, query) =>
      JSON.stringify(query?.queryKey[1]) === JSON.stringify(subject) ? before : undefined,
  })
}

/** The last hour in few samples, for a cell. */
export function useSpark(subject: Subject, isLive: boolean) {
  return useQuery({
    queryKey: keyOf(subject, SPARK),
    queryFn: ({ signal }) => inTurn(() => fetchHistory(subject, SPARK, signal)),
    enabled: isLive,
    staleTime: SPARK_REFRESH_MS,
    refetchInterval: SPARK_REFRESH_MS,
    refetchOnWindowFocus: false,
  })
}
