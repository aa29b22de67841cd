/** What a terminal offers to find a line again after others were trimmed or wrapped anew. */
export interface MarkedTerminal {
  registerMarker(cursorYOffset?: number): LineMarker | undefined
}

export interface LineMarker {
  /** In the buffer now; -1 = gone. */
  readonly line: number
  readonly isDisposed: boolean
  dispose(): void
}

interface Run {
  marker: LineMarker
  /** Undefined = of the past: nobody here saw it come. */
  atMs: number | undefined
}

/** Lines that came within this of each other share a time. */
const TOGETHER_MS = 1000
const MAX_RUNS = 2000

/** When lines of a terminal arrived: one mark for all that came within a second. */
export class LineTimes {
  readonly #terminal: MarkedTerminal
  #runs: Run[] = []

  constructor(terminal: MarkedTerminal) {
    this.#terminal = terminal
  }

  /** Before text is given to the terminal: what comes from the cursor's line on arrived now. */
  mark(atMs: number | undefined): void {
    const last = this.#runs.at(-1)
    if (last && !last.marker.isDisposed && same(last.atMs, atMs)) return
    const marker = this.#terminal.registerMarker(0)
    if (!marker) return
    this.#runs.push({ marker, atMs })
    if (this.#runs.length <= MAX_RUNS) return
    this.#runs.shift()?.marker.dispose()
    this.#runs = this.#runs.filter((run) => !run.marker.isDisposed)
  }

  /** `before` = it was there when this view was opened; undefined = not known any more. */
  of(line: number): number | 'before' | undefined {
    let low = 0
    const runs = this.#runs.filter((run) => !run.marker.isDisposed)
    let high = runs.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (runs[middle]!.marker.line <= line) low = middle + 1
      else high = middle
    }
    const run = runs[low - 1]
    return run && (run.atMs ?? 'before')
  }

  clear(): void {
    for (const { marker } of this.#runs) marker.dispose()
    this.#runs = []
  }
}

const same = (a: number | undefined, b: number | undefined): boolean =>
  a === b || (a !== undefined && b !== undefined && Math.abs(b - a) < TOGETHER_MS)
