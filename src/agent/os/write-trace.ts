/** One step towards the disk, as os/files.ts takes it. */
export type WriteStep =
  | { op: 'mkdir' | 'create' | 'sync' | 'sync-dir' | 'remove'; path: string }
  | { op: 'write'; path: string; data: Uint8Array }
  | { op: 'cut'; path: string; size: number }
  | { op: 'rename'; from: string; to: string }
  | { op: 'link'; path: string; text: string }

let listener: ((step: WriteStep) => void) | undefined

/** Tells a test of every step after it was taken; undefined = nobody. */
export function onWrite(fn: ((step: WriteStep) => void) | undefined): void {
  listener = fn
}

export const isTraced = (): boolean => listener !== undefined

/** Tells whoever listens. */
export function trace(step: WriteStep): void {
  listener?.(step)
}
