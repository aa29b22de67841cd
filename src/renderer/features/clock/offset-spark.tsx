import { offsetWords } from '../../../ipc/clock-words.ts'
import { useHost } from '../../state/use-fleet.ts'
import { isCurrent } from '../hosts/view-model.ts'
import { useSpark } from '../metrics/queries.ts'
import { type History, onGrid } from '../metrics/series.ts'
import { Sparkline } from '../metrics/sparkline.tsx'
import type { ClockRow } from './view-model.ts'

/** A scale spans this at least, µs: what is in step is a flat line. */
const LEAST_US = 20_000

/** The offset of one clock over the last hour. */
export function OffsetSpark({ row }: { row: ClockRow }) {
  const hostId = row.vm?.hostId ?? row.id
  const host = useHost(hostId)
  const isLive = host !== undefined && isCurrent(host) && row.offset !== ''
  const { data, isLoading } = useSpark(row.vm ? { vm: row.id } : { host: row.id }, isLive)
  if (isLoading)
    return (
      <span className="text-faint" title={`Asking ${host?.name ?? 'its host'} for the last hour`}>
        …
      </span>
    )
  const values = data ? onGrid(data, ({ clockOffsetUs }) => clockOffsetUs) : []
  if (values.every((value) => value === undefined)) return <span className="text-faint">–</span>
  return <Sparkline values={values} label={spoken(data!)} least={LEAST_US} isOld={!isLive} />
}

/** `Last hour: from 2 ms ahead to 41.2 s behind`. */
function spoken({ samples }: History): string {
  const known = samples.flatMap(({ clockOffsetUs }) => clockOffsetUs ?? [])
  const [low, high] = [Math.min(...known), Math.max(...known)].map((us) => offsetWords(BigInt(Math.round(us))))
  return `Offset in the last hour: from ${low} to ${high}`
}
