const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const

/** `downloading image 0.4/3.7 GiB`: both numbers in the unit of the larger; without a known total only what is done. */
export function downloadDetail(done: number, total: number | undefined): string {
  const known = total !== undefined && total > 0
  const largest = known ? Math.max(done, total) : done
  let unit = 0
  while (unit < UNITS.length - 1 && largest >= 1024 ** (unit + 1)) unit++
  const shown = (bytes: number) => (unit === 0 ? String(bytes) : (bytes / 1024 ** unit).toFixed(1))
  return `downloading image ${shown(done)}${known ? `/${shown(total)}` : ''} ${UNITS[unit]}`
}
