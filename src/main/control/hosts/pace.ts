import type { FileHandle } from 'node:fs/promises'
import type { Fault } from '../../../ipc/faults.ts'
import { KiB } from '../../../ipc/units.ts'
import type { AgentConnection } from './agent-connection.ts'

/** What is said beside a bulk transfer waits about this long behind it, on a slow line too. */
export const PACE_TARGET_MS = 200
export const SMALLEST_BYTES = 64 * KiB
const FIRST_BYTES = 128 * KiB

/** Pure: the size of the next piece after one of `bytes` took `ms` to arrive: at most doubled, never under 64 KiB. */
export function nextPieceBytes(bytes: number, ms: number, largest: number): number {
  const fits = ms <= 0 ? largest : (bytes * PACE_TARGET_MS) / ms
  return Math.round(Math.min(largest, Math.max(SMALLEST_BYTES, Math.min(fits, 2 * bytes))))
}

/** Pieces of a bulk transfer over a link that carries other things too. */
export interface Pace {
  readonly pieceBytes: number
  /** A piece was handed over: waits until no more than this one is under way. */
  sent(bytes: number): Promise<void>
}

/** A local link needs none: its pieces are as large as they may be. */
export function paceFor(connection: AgentConnection, largest: number, monotonic: () => number): Pace {
  if (connection.carrier === 'unix') return { pieceBytes: largest, sent: async () => {} }
  let pieceBytes = FIRST_BYTES
  let before: Promise<void> = Promise.resolve()
  return {
    get pieceBytes() {
      return pieceBytes
    },
    async sent(bytes) {
      const at = monotonic()
      const arrived = connection.drained().then(() => {
        pieceBytes = nextPieceBytes(bytes, monotonic() - at, largest)
      })
      await before
      before = arrived
    },
  }
}

export interface PacedFile {
  file: FileHandle
  /** Where to begin. */
  from: number
  size: number
  pace: Pace
  /** Called after each piece, with where it ended. */
  sent(at: number): void
  /** Raised when the file ends before its size. */
  shrank(): Fault
}

/** Pull-based: a piece is read when whoever sends has room for it. */
export async function* pacedPieces({ file, from, size, pace, sent, shrank }: PacedFile): AsyncGenerator<Buffer> {
  for (let at = from; at < size; ) {
    const piece = Buffer.allocUnsafe(Math.min(pace.pieceBytes, size - at))
    const { bytesRead } = await file.read(piece, 0, piece.length, at)
    if (bytesRead === 0) throw shrank()
    at += bytesRead
    yield piece.subarray(0, bytesRead)
    sent(at)
    await pace.sent(bytesRead)
  }
}
