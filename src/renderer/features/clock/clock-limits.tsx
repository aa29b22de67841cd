import { CLOCK_LIMITS } from '../../../ipc/clock-words.ts'
import { cx } from '../../lib/class-names.ts'
import { formatDuration } from '../../lib/format.ts'

const WORDS: Record<number, string> = { 100: '100 ms' }

/** What breaks from which offset on; those reached stand out, by words too. */
export function ClockLimits({ offMs }: { offMs?: number }) {
  return (
    <dl className="grid grid-cols-[max-content_1fr] gap-x-4 gap-y-1">
      {CLOCK_LIMITS.map(({ ms, breaks }) => {
        const reached = offMs !== undefined && offMs >= ms
        return (
          <div key={ms} className={cx('contents', reached ? 'text-bad' : 'text-dim')}>
            <dt className={cx('text-right tabular-nums', reached && 'font-medium')}>
              {WORDS[ms] ?? formatDuration(ms)}
            </dt>
            <dd>
              {breaks}
              {reached && <span className="font-medium"> – reached</span>}
            </dd>
          </div>
        )
      })}
    </dl>
  )
}
