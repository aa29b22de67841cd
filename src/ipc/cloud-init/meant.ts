/** The name that was probably meant: the nearest within two slips, and closer the shorter it is. */
export function meant(word: string, names: readonly string[]): string | undefined {
  const plain = (name: string) => name.toLowerCase().replaceAll(/[-_.]/g, '')
  const most = Math.min(2, Math.floor(word.length / 3))
  let best: string | undefined
  let least = most + 1
  for (const name of names) {
    const slips = plain(name) === plain(word) ? 0 : slipsBetween(plain(word), plain(name))
    if (slips < least) {
      least = slips
      best = name
    }
  }
  return best
}

/** Letters put in, left out, changed, or swapped with their neighbour. */
function slipsBetween(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > 2 || a.length > 64) return 3
  let before: number[] = []
  let row = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1
      let slips = Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + same)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) slips = Math.min(slips, before[j - 2]! + 1)
      next.push(slips)
    }
    before = row
    row = next
  }
  return row[b.length] ?? 3
}
