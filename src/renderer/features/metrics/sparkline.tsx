import { cx } from '../../lib/class-names.ts'
import { sparkPaths } from './spark-paths.ts'

const WIDTH = 88
const HEIGHT = 20

/** A small curve for a cell; undefined = a gap. `least` is how much the scale spans at least. */
export function Sparkline({
  values,
  label,
  least = 0,
  isOld = false,
}: {
  values: readonly (number | undefined)[]
  /** What it says, in words: a picture says nothing to who cannot see it. */
  label: string
  least?: number
  isOld?: boolean
}) {
  const paths = sparkPaths(values, WIDTH, HEIGHT, least)
  return (
    <svg
      role="img"
      aria-label={label}
      width={WIDTH}
      height={HEIGHT}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      className={cx('inline-block align-middle', isOld ? 'text-quiet' : 'text-accent')}
    >
      <title>{label}</title>
      {paths.map((path) => (
        <path key={path} d={path} fill="none" stroke="currentColor" strokeWidth={1.5} strokeLinecap="round" />
      ))}
    </svg>
  )
}
