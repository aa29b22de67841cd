import { createHash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import { Fault } from '../../../ipc/faults.ts'

/** Digests remembered; past this the oldest is looked at again. */
const MAX_KNOWN = 256

/** Whether files kept here still hold the bytes they are named by. Each is read once, and again when it was replaced. */
export class ImageFileCheck {
  /** Absent = nobody doubted it. `which` = the file as it was when it was read; empty = not read yet. */
  readonly #doubted = new Map<string, { which: string; sound: boolean }>()

  /** A host found other bytes: the file is read before it is sent again, unless it was already. */
  doubt(sha256: string): void {
    if (this.#doubted.has(sha256)) return
    for (const oldest of this.#doubted.keys()) if (this.#doubted.size >= MAX_KNOWN) this.#doubted.delete(oldest)
    this.#doubted.set(sha256, { which: '', sound: false })
  }

  /** Raises image/digest-mismatch for a file that was doubted and is damaged. */
  async require(sha256: string, file: FileHandle, signal: AbortSignal): Promise<void> {
    const doubted = this.#doubted.get(sha256)
    if (!doubted) return
    const { ino, size, mtimeMs } = await file.stat()
    const which = `${ino} ${size} ${mtimeMs}`
    if (doubted.which !== which) {
      doubted.sound = (await digestOf(file, signal)) === sha256
      doubted.which = which
    }
    if (doubted.sound) return
    const said = 'The file of this image is damaged where it is kept: its bytes do not match its SHA-256.'
    throw new Fault('image/digest-mismatch', 'permanent', { image: sha256, said })
  }
}

async function digestOf(file: FileHandle, signal: AbortSignal): Promise<string> {
  const hash = createHash('sha256')
  const bytes = file.createReadStream({ start: 0, autoClose: false, highWaterMark: 1 << 20, signal })
  for await (const chunk of bytes) hash.update(chunk as Buffer)
  return hash.digest('hex')
}
