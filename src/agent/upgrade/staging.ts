import { createHash, randomBytes } from 'node:crypto'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { Fault } from '../../ipc/faults.ts'
import type { PutAgentStart } from '../../ipc/gen/eitri/agent/v1/upgrade_pb.js'
import { isSha256 } from '../../ipc/names.ts'
import { MiB } from '../../ipc/units.ts'
import { requireRoom } from '../os/disk-space.ts'
import { AppendFile, ensureDir, removeTree } from '../os/files.ts'

/** Far above any agent; a stream that unpacks to more is none. */
const MAX_AGENT_BYTES = 512 * MiB

/** Where newer agents wait for an offer. One at a time: the next takes the place of the one before. */
export class Staging {
  readonly #dir: string
  #busy = false

  /** Makes nothing. */
  constructor(dir: string) {
    this.#dir = dir
  }

  /** Writes what comes into a file of its own and answers its path. Raises agent/upgrade-refused, input/invalid and host/disk-full; what came is then gone. */
  async put(start: PutAgentStart, chunks: AsyncIterable<Uint8Array>): Promise<string> {
    requireSizes(start)
    if (this.#busy) throw refused('another agent is on its way to this host')
    this.#busy = true
    const path = join(this.#dir, `${start.sha256.slice(0, 12)}-${randomBytes(4).toString('hex')}`)
    try {
      await this.#begin(Number(start.unpackedBytes))
      await this.#write(path, start, chunks)
      return path
    } catch (error) {
      await removeTree('upgrade.unstage-broken', path).catch(() => {})
      throw error instanceof Fault ? error : refused(`it cannot be unpacked: ${(error as Error).message}`)
    } finally {
      this.#busy = false
    }
  }

  async #begin(bytes: number): Promise<void> {
    await removeTree('upgrade.stage-clear', this.#dir)
    await ensureDir('upgrade.stage-dir', this.#dir)
    // Once here, once where it runs.
    await requireRoom(dirname(this.#dir), 2 * bytes)
  }

  async #write(path: string, start: PutAgentStart, chunks: AsyncIterable<Uint8Array>): Promise<void> {
    const file = await AppendFile.open('upgrade.stage', path)
    const hash = createHash('sha256')
    let size = 0
    const take = async (source: AsyncIterable<Uint8Array>) => {
      for await (const part of source) {
        size += part.length
        if (size > Number(start.unpackedBytes)) throw refused('it is larger than it was said to be')
        hash.update(part)
        await file.append('upgrade.stage-append', part)
      }
    }
    try {
      if (start.gzip) await pipeline(Readable.from(chunks, { objectMode: false }), createGunzip(), take)
      else await take(chunks)
    } finally {
      await file.close()
    }
    if (size !== Number(start.unpackedBytes)) throw refused(`only ${size} of ${start.unpackedBytes} bytes came`)
    if (hash.digest('hex') !== start.sha256) throw refused('it arrived with another SHA-256')
  }
}

function requireSizes({ sha256, sizeBytes, unpackedBytes }: PutAgentStart): void {
  const wrong = (field: string, problem: string) =>
    new Fault('input/invalid', 'permanent', { field, problem, value: '' })
  if (!isSha256(sha256)) throw wrong('sha256', 'use 64 lower-case hex characters')
  for (const [field, bytes] of [
    ['size_bytes', sizeBytes],
    ['unpacked_bytes', unpackedBytes],
  ] as const)
    if (bytes < 1n || bytes > BigInt(MAX_AGENT_BYTES)) throw wrong(field, `from 1 to ${MAX_AGENT_BYTES}`)
}

/** Removes what was staged, wherever an offer says it was; nothing outside of `dir`. Idempotent. */
export async function unstage(dir: string, path: string): Promise<void> {
  if (dirname(path) === dir) await removeTree('upgrade.unstage', path).catch(() => {})
}

const refused = (detail: string) => new Fault('agent/upgrade-refused', 'permanent', { detail })
