import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { z } from 'zod'

export interface Rect {
  x: number
  y: number
  width: number
  height: number
}

const side = z.number().int().min(-100_000).max(100_000)
const State = z.object({
  x: side,
  y: side,
  width: z.number().int().min(1).max(100_000),
  height: z.number().int().min(1).max(100_000),
  maximized: z.boolean(),
})
export type WindowState = z.infer<typeof State>

export const MIN_WINDOW = { width: 720, height: 480 }
const DEFAULT_WINDOW = { width: 1280, height: 800 }
/** So much of a window must lie on a screen to be seen and dragged. */
const GRIP = { width: 120, height: 60 }
const FILE_CHARS = 1_000

/** Where the last window was, as far as it is on a screen that is there now; else the default size, placed by the desktop. */
export function restoredWindow(file: string, screens: readonly Rect[]) {
  const kept = readState(file)
  if (!kept) return { ...DEFAULT_WINDOW, maximized: false }
  const size = { width: Math.max(kept.width, MIN_WINDOW.width), height: Math.max(kept.height, MIN_WINDOW.height) }
  const seen = screens.some(
    (screen) =>
      overlap(kept.x, kept.width, screen.x, screen.width) >= GRIP.width &&
      overlap(kept.y, GRIP.height, screen.y, screen.height) >= GRIP.height,
  )
  return { ...size, ...(seen ? { x: kept.x, y: kept.y } : {}), maximized: kept.maximized }
}

/** Best effort: a place that cannot be kept costs nothing but the place. */
export function keepWindow(file: string, state: WindowState): void {
  try {
    writeFileSync(`${file}.new`, JSON.stringify(state), { mode: 0o600 })
    renameSync(`${file}.new`, file)
  } catch {}
}

function readState(file: string): WindowState | undefined {
  try {
    const text = readFileSync(file, 'utf8')
    return text.length > FILE_CHARS ? undefined : State.parse(JSON.parse(text))
  } catch {
    return undefined
  }
}

const overlap = (a: number, aSize: number, b: number, bSize: number): number =>
  Math.min(a + aSize, b + bSize) - Math.max(a, b)
