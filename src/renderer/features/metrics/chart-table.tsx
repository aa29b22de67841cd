import { formatTime } from '../../lib/format.ts'
import type { Chart } from './charts.ts'
import { type Gap, gapWords, type Sample } from './series.ts'

type Row = { atMs: number; sample: Sample } | { atMs: number; gap: Gap }

/** The same numbers to be read line by line, newest first; gaps are lines of their own. */
export function ChartTable({
  charts,
  name,
  samples,
  gaps,
}: {
  charts: readonly Chart[]
  name: string
  samples: readonly Sample[]
  gaps: readonly Gap[]
}) {
  const now = Date.now()
  const lines = charts.flatMap((chart) => chart.lines.map((line) => ({ chart, line })))
  const rows: Row[] = [
    ...samples.map((sample) => ({ atMs: sample.atMs, sample })),
    ...gaps.map((gap) => ({ atMs: gap.fromMs, gap })),
  ].toSorted((a, b) => b.atMs - a.atMs)
  return (
    <section
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled by keyboard
      tabIndex={0}
      aria-label={`Measurements of ${name}`}
      className="max-h-[30rem] overflow-auto rounded-lg border border-line bg-panel"
    >
      <table className="w-full border-separate border-spacing-0 text-xs tabular-nums">
        <caption className="sr-only">Measurements of {name}, newest first</caption>
        <thead>
          <tr>
            <th scope="col" className={head}>
              Time
            </th>
            {lines.map(({ chart, line }) => (
              <th key={`${chart.id} ${line.label}`} scope="col" className={`${head} text-right`}>
                <span className="block">{chart.title}</span>
                <span className="block font-normal">{line.label.toLowerCase()}</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.atMs}>
              {'gap' in row ? (
                <td colSpan={lines.length + 1} className="bg-sunken px-3 py-1 text-dim">
                  {gapWords(row.gap, now)}
                </td>
              ) : (
                <>
                  <th scope="row" className={`${cell} text-left font-normal text-faint`}>
                    {formatTime(new Date(row.atMs), new Date(now))}
                  </th>
                  {lines.map(({ chart, line }) => {
                    const value = line.of(row.sample)
                    return (
                      <td key={`${chart.id} ${line.label}`} className={`${cell} text-right`}>
                        {value === undefined ? <span className="text-faint">–</span> : chart.say(value)}
                      </td>
                    )
                  })}
                </>
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

const head = 'sticky top-0 border-line border-b bg-panel px-3 py-1.5 text-left align-bottom font-medium text-faint'
const cell = 'border-line border-b px-3 py-1 whitespace-nowrap'
