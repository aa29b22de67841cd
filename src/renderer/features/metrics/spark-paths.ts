/** Kept free above and below, so that a stroke is not cut. */
const MARGIN = 2

/** Path data of the curves of a small picture, one for each stretch without a gap. Pure. */
export function sparkPaths(
  values: readonly (number | undefined)[],
  width: number,
  height: number,
  least: number,
): string[] {
  const known = values.filter((value) => value !== undefined)
  if (known.length === 0) return []
  const [low, high] = [Math.min(...known), Math.max(...known)]
  const span = Math.max(high - low, least)
  const middle = (low + high) / 2
  const x = (i: number) => (values.length < 2 ? width / 2 : MARGIN + (i / (values.length - 1)) * (width - 2 * MARGIN))
  const y = (value: number) =>
    span === 0 ? height / 2 : height / 2 - ((value - middle) / span) * (height - 2 * MARGIN)
  const paths: string[] = []
  let run: string[] = []
  const end = () => {
    // A stretch of one point is a dot: a line of no length with round ends.
    if (run.length > 0) paths.push(`M${run.length === 1 ? [run[0], run[0]].join('L') : run.join('L')}`)
    run = []
  }
  values.forEach((value, i) => {
    if (value === undefined) end()
    else run.push(`${x(i).toFixed(1)} ${y(value).toFixed(1)}`)
  })
  end()
  return paths
}
