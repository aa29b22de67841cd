import { type KeyboardEvent, lazy, Suspense } from 'react'
import { cx } from '../../lib/class-names.ts'
import { formatTime } from '../../lib/format.ts'
import { type Chart, extremes, sayLines } from './charts.ts'
import { type Crosshair, nearest, useCrosshair } from './crosshair.ts'
import { endsInGap, type Gap, type Sample } from './series.ts'

const Plot = lazy(() => import('./plot.tsx').then(({ Plot }) => ({ default: Plot })))

export interface ChartCardProps {
  chart: Chart
  /** Whose numbers. */
  name: string
  samples: readonly Sample[]
  gaps: readonly Gap[]
  fromMs: number
  toMs: number
  crosshair: Crosshair
  /** The numbers are last known. */
  isOld: boolean
}

/** Steps of Page Up and Page Down. */
const PAGE = 10

/** One chart with what it says now, or at the moment pointed at. */
export function ChartCard(props: ChartCardProps) {
  const { chart, samples, gaps, toMs, crosshair, isOld } = props
  const found = extremes(chart, samples)
  return (
    <section aria-label={chart.title} className="min-w-0 rounded-lg border border-line bg-panel">
      <header className="flex min-h-9 flex-wrap items-center gap-x-4 gap-y-0.5 px-4 pt-2">
        <h3 className="font-medium text-dim text-xs">{chart.title}</h3>
        {found && <Reading {...{ chart, samples, crosshair, isOld }} isPast={endsInGap(gaps, toMs)} />}
      </header>
      {found ? (
        <Pointed {...props}>
          <Suspense fallback={<p className="h-[132px] px-4 py-2 text-faint">Loading the chart…</p>}>
            <Plot {...props} scale={chart.range(...found)} />
          </Suspense>
        </Pointed>
      ) : (
        <p className="px-4 pt-1 pb-4 text-dim">Not measured. {chart.whyNone}</p>
      )}
    </section>
  )
}

/** The values at the crosshair, else the newest, with their time when that is not now; lines are told apart by their stroke too. */
function Reading({
  chart,
  samples,
  crosshair,
  isOld,
  isPast,
}: Pick<ChartCardProps, 'chart' | 'samples' | 'crosshair' | 'isOld'> & { isPast: boolean }) {
  const pointed = useCrosshair(crosshair)
  const sample = pointed === undefined ? samples.at(-1) : samples[nearest(samples, pointed)]
  return (
    <div className="ml-auto flex flex-wrap items-center gap-x-4 text-xs tabular-nums">
      {sample && (pointed !== undefined || isPast) && (
        <span className="text-faint">
          {pointed === undefined && 'last measured '}
          {timeOf(sample)}
        </span>
      )}
      {chart.lines.map(({ label, of }, i) => {
        const value = sample && of(sample)
        return (
          <span key={label} className="inline-flex items-center gap-1.5">
            <span
              aria-hidden
              className={cx(
                'inline-block w-3.5 border-t-2',
                i === 0 ? 'border-solid' : 'border-dashed',
                isOld ? 'border-quiet' : i === 0 ? 'border-accent' : 'border-ember',
              )}
            />
            <span className="text-faint">{label}</span>
            <span className={(isOld || isPast) && pointed === undefined ? 'text-faint' : ''}>
              {value === undefined ? '–' : chart.say(value)}
            </span>
          </span>
        )
      })}
    </div>
  )
}

const timeOf = ({ atMs }: Sample) => formatTime(new Date(atMs), new Date())

/** Arrows move the crosshair of the whole group; what stands there is read out. */
function Pointed({ children, ...props }: ChartCardProps & { children: React.ReactNode }) {
  const { chart, name, samples, crosshair } = props
  const pointed = useCrosshair(crosshair)
  const last = samples.length - 1
  const at = pointed === undefined ? last : nearest(samples, pointed)
  const sample = samples[at]
  const onKeyDown = (event: KeyboardEvent) => {
    const to = {
      ...{ ArrowLeft: at - 1, ArrowRight: at + 1, ArrowDown: at - 1, ArrowUp: at + 1 },
      ...{ PageDown: at - PAGE, PageUp: at + PAGE, Home: 0, End: last },
    }[event.key]
    if (event.key === 'Escape' && pointed !== undefined) crosshair.move(undefined)
    else if (to !== undefined && !event.metaKey && !event.ctrlKey && !event.altKey)
      crosshair.move(samples[Math.max(0, Math.min(last, to))]?.atMs)
    else return
    event.preventDefault()
    event.stopPropagation()
  }
  return (
    <div
      role="slider"
      tabIndex={0}
      aria-label={`${chart.title} of ${name} over time`}
      aria-valuemin={0}
      aria-valuemax={Math.max(0, last)}
      aria-valuenow={Math.max(0, at)}
      aria-valuetext={sample ? `${timeOf(sample)}: ${sayLines(chart, sample)}` : 'no data'}
      onKeyDown={onKeyDown}
      onBlur={() => crosshair.move(undefined)}
      onMouseLeave={() => crosshair.move(undefined)}
      className="rounded-b-lg px-2 pb-1 outline-none focus-visible:shadow-[inset_0_0_0_2px_var(--accent)]"
    >
      {children}
    </div>
  )
}
