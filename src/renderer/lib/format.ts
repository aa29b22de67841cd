const SIZES = ['B', 'KB', 'MB', 'GB', 'TB', 'PB']

/** Bytes of a file or a transfer, decimal units: `12.4 MB`. */
export function formatBytes(bytes: number | bigint): string {
  let value = Number(bytes)
  let unit = 0
  while (value >= 999.5 && unit < SIZES.length - 1) {
    value /= 1000
    unit++
  }
  return `${unit === 0 || value >= 99.95 ? Math.round(value) : value.toFixed(1)} ${SIZES[unit]}`
}

/** MiB of memory or disk as a person says it: `512 MB`, `4 GB`, `1.5 GB`, `1.7 TB`. */
export function formatMemory(mib: number | bigint): string {
  const value = Number(mib)
  if (value < 1024) return `${value} MB`
  const gib = value / 1024
  return gib < 1024 ? `${inTenths(gib)} GB` : `${inTenths(gib / 1024)} TB`
}

const inTenths = (n: number) => (Number.isInteger(n) ? n : n.toFixed(1))

const MIB = 1024 ** 2

/** Bytes of a memory, or of a disk of a host or VM, in the units they are given in: `412 MB`, `1.5 GB`. */
export const formatMemoryBytes = (bytes: number | bigint): string => formatMemory(Math.round(Number(bytes) / MIB))

/** GiB of disk: `10 GB`, `1.7 TB`. */
export const formatGib = (gib: number | bigint): string => formatMemory(Number(gib) * 1024)

/** Thousandths as a person says them: `0 %`, `<1 %`, `12 %`. */
export function formatPermille(permille: number): string {
  return permille > 0 && permille < 10 ? '<1 %' : `${Math.round(permille / 10)} %`
}

/** A length of time in its two largest units: `6 d 4 h`, `41 s`, `2 min`. */
export function formatDuration(ms: number): string {
  const s = Math.max(0, Math.floor(ms / 1000))
  if (s < 60) return `${s} s`
  const min = Math.floor(s / 60)
  if (min < 60) return s % 60 === 0 || min >= 10 ? `${min} min` : `${min} min ${s % 60} s`
  const h = Math.floor(min / 60)
  if (h < 24) return min % 60 === 0 ? `${h} h` : `${h} h ${min % 60} min`
  const d = Math.floor(h / 24)
  return h % 24 === 0 ? `${d} d` : `${d} d ${h % 24} h`
}

/** Elapsed time of a step: tenths under ten seconds, so that something is seen to move. */
export function formatElapsed(ms: number): string {
  return ms < 10_000 ? `${(Math.max(0, ms) / 1000).toFixed(1)} s` : formatDuration(ms)
}

const two = (n: number) => String(n).padStart(2, '0')

/** Local clock time `14:02:11`. */
export const formatClock = (at: Date): string => `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`

/** Local clock time `14:02:11`, with the date before it when that is not today. */
export function formatTime(at: Date, now: Date): string {
  const clock = formatClock(at)
  return at.toDateString() === now.toDateString() ? clock : `${formatDate(at)} ${clock}`
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** A moment for a state word: `14:02` today, `6 Dec 14:02` another day. */
export function formatMoment(at: Date, now: Date): string {
  const clock = `${two(at.getHours())}:${two(at.getMinutes())}`
  return at.toDateString() === now.toDateString() ? clock : `${formatDay(at)} ${clock}`
}

/** `6 Dec` */
export const formatDay = (at: Date): string => `${at.getDate()} ${MONTHS[at.getMonth()]}`

/** Local date `2026-03-02`. */
export const formatDate = (at: Date): string => `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`

/** How long ago, coarse: `just now`, `40 s ago`, `3 h ago`. */
export function formatAgo(at: Date, now: Date): string {
  const ms = now.getTime() - at.getTime()
  if (ms < 5000) return 'just now'
  const [large] = formatDuration(ms).match(/^\d+ \w+/) ?? ['just now']
  return `${large} ago`
}

/** The first eight characters of an id; the whole stays one copy away. */
export const shortId = (id: string): string => id.slice(0, 8)

export const plural = (n: number, one: string, many = `${one}s`): string => `${n} ${n === 1 ? one : many}`
