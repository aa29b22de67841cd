import 'uplot/dist/uPlot.min.css'
import { useEffect, useRef } from 'react'
import uPlot from 'uplot'
import type { Chart } from './charts.ts'
import { type Colours, coloursNow, onTheme } from './colours.ts'
import type { Crosshair } from './crosshair.ts'
import { type Gap, gapWords, NO_DATA, type Sample } from './series.ts'

export interface PlotProps {
  chart: Chart
  samples: readonly Sample[]
  gaps: readonly Gap[]
  fromMs: number
  toMs: number
  scale: [number, number]
  crosshair: Crosshair
  isOld: boolean
}

export const PLOT_HEIGHT = 132
const AXIS_WIDTH = 66
/** Half a time of day, which stands in the middle below its moment, px. */
const TIME_HALF = 18
/** Space around the words in a gap, px. */
const GAP_PADDING = 8
const LINE_PX = 15

/** The curves of one chart on a canvas; all that is read stands beside it. */
export function Plot(props: PlotProps) {
  const box = useRef<HTMLDivElement>(null)
  const latest = useRef(props)
  const plot = useRef<uPlot>(undefined)
  const { chart, crosshair, isOld } = props

  useEffect(() => {
    const at = box.current
    if (!at) return
    const build = () => {
      plot.current?.destroy()
      plot.current = new uPlot(optionsOf(latest, at.clientWidth, coloursNow(isOld)), dataOf(latest.current), at)
    }
    build()
    const resized = new ResizeObserver(() => plot.current?.setSize({ width: at.clientWidth, height: PLOT_HEIGHT }))
    resized.observe(at)
    const themed = onTheme(build)
    const moved = crosshair.subscribe(() => point(plot.current, crosshair.at()))
    return () => {
      resized.disconnect()
      themed()
      moved()
      plot.current?.destroy()
      plot.current = undefined
    }
  }, [crosshair, isOld])

  useEffect(() => {
    latest.current = props
    const shown = plot.current
    if (!shown) return
    shown.setData(dataOf(props), false)
    shown.batch(() => {
      shown.setScale('x', { min: props.fromMs, max: props.toMs })
      shown.setScale('y', { min: props.scale[0], max: props.scale[1] })
    })
    point(shown, crosshair.at())
  }, [props, crosshair])

  return <div ref={box} aria-hidden data-plot={chart.id} style={{ height: PLOT_HEIGHT }} className="min-w-0" />
}

function dataOf({ chart, samples }: PlotProps): uPlot.AlignedData {
  const xs = samples.map(({ atMs }) => atMs)
  return [xs, ...chart.lines.map(({ of }) => samples.map((sample) => of(sample) ?? null))]
}

function point(plot: uPlot | undefined, atMs: number | undefined): void {
  plot?.setCursor({ left: atMs === undefined ? -10 : plot.valToPos(atMs, 'x'), top: 0 }, false)
}

function optionsOf(latest: { current: PlotProps }, width: number, colours: Colours): uPlot.Options {
  const { chart, fromMs, toMs, scale, crosshair } = latest.current
  const axis = {
    stroke: colours.text,
    font: colours.font,
    grid: { stroke: colours.grid, width: 1 },
    ticks: { show: false },
  }
  return {
    width: Math.max(width, 120),
    height: PLOT_HEIGHT,
    ms: 1,
    padding: [8, TIME_HALF, 0, 0],
    legend: { show: false },
    scales: { x: { time: true, min: fromMs, max: toMs }, y: { auto: false, min: scale[0], max: scale[1] } },
    cursor: { drag: { x: false, y: false }, y: false, points: { size: 7 } },
    axes: [
      { ...axis, space: 70, size: 24, grid: { show: false }, values: (_, splits) => splits.map(clockTime) },
      {
        ...axis,
        ...(chart.steps ? { incrs: [...chart.steps] } : {}),
        size: AXIS_WIDTH,
        space: 28,
        gap: 6,
        values: (_, splits) => splits.map(chart.tick),
      },
    ],
    series: [
      {},
      ...chart.lines.map(({ label }, i) => ({
        label,
        stroke: colours.lines[i] ?? colours.lines[0],
        width: 1.5,
        ...(i === 0 ? {} : { dash: [5, 3] }),
        spanGaps: false,
        points: { show: false },
      })),
    ],
    hooks: {
      drawAxes: [(plot) => drawGaps(plot, latest.current.gaps, colours)],
      setCursor: [
        (plot) => {
          const { left = -1, idx, event } = plot.cursor
          if (event) crosshair.move(left < 0 || idx == null ? undefined : plot.data[0][idx])
        },
      ],
    },
  }
}

function clockTime(ms: number): string {
  const at = new Date(ms)
  return `${String(at.getHours()).padStart(2, '0')}:${String(at.getMinutes()).padStart(2, '0')}`
}

/** A shaded stretch with the words in it where they fit. */
function drawGaps(plot: uPlot, gaps: readonly Gap[], colours: Colours): void {
  const { ctx } = plot
  const { left, top, width, height } = plot.bbox
  const at = (ms: number) => Math.min(left + width, Math.max(left, plot.valToPos(ms, 'x', true)))
  const now = Date.now()
  ctx.save()
  ctx.font = colours.font.replace('11px', `${11 * devicePixelRatio}px`)
  ctx.textAlign = 'center'
  ctx.textBaseline = 'middle'
  for (const gap of gaps) {
    const [from, to] = [at(gap.fromMs), at(gap.toMs)]
    ctx.fillStyle = colours.gap
    ctx.fillRect(from, top, to - from, height)
    const words = gapWords(gap, now)
    const fits = (text: string) => ctx.measureText(text).width + 2 * GAP_PADDING * devicePixelRatio <= to - from
    const lines = fits(words) ? [words] : [words.slice(0, NO_DATA.length), words.slice(NO_DATA.length + 1)]
    if (!lines.every(fits)) continue
    ctx.fillStyle = colours.text
    lines.forEach((line, i) => {
      ctx.fillText(line, (from + to) / 2, top + height / 2 + (i - (lines.length - 1) / 2) * LINE_PX * devicePixelRatio)
    })
  }
  ctx.restore()
}
