import { createHash } from 'node:crypto'
import { dirname } from 'node:path'
import { fromBinary, toBinary } from '@bufbuild/protobuf'
import { z } from 'zod'
import { type Snapshot, SnapshotSchema } from '../../ipc/gen/eitri/agent/v1/sync_pb.js'
import * as space from '../os/disk-space.ts'
import { type LookAtDisk, namedIfFull } from '../os/disk-space.ts'
import * as files from '../os/files.ts'
import { problemOf } from './problem.ts'

/** What the agent goes on converging to with no control plane connected. */
export interface Desired {
  /** The last accepted one; its state is there. */
  snapshot: Snapshot
  /** The epoch in which each deleted VM was deleted, without having been wanted since. */
  deletedIn: ReadonlyMap<string, bigint>
}

export type DesiredRead =
  | { kind: 'none' }
  /** Nothing is decided until the next snapshot; `problem` says what is wrong with the file, in words. */
  | { kind: 'unreadable'; problem: string }
  | { kind: 'desired'; desired: Desired }

export interface DesiredStore {
  /** Never rejects, changes nothing. */
  load(): Promise<DesiredRead>
  /** Durable when it resolves. A file that could not be read is kept beside. Raises `host/disk-full`. */
  save(desired: Desired): Promise<void>
}

const VERSION = 1
const MAGIC = 'eitri-desired'
const Head = z.object({ deleted_in: z.record(z.string(), z.string().regex(/^\d+$/)) })

export type DesiredFiles = Pick<typeof files, 'readIfPresent' | 'writeDurable' | 'moveDurable'> & {
  diskSpace: LookAtDisk
}

/**
 * The snapshot in one file: a line with format, version and SHA-256 of the rest, a line of JSON, the snapshot's bytes.
 * The file of version 0 was those bytes alone.
 */
export function fileDesired(
  path: string,
  { readIfPresent, writeDurable, moveDurable, diskSpace }: DesiredFiles = { ...files, ...space },
): DesiredStore {
  let unreadable = false
  return {
    async load() {
      try {
        const bytes = await readIfPresent(path)
        return bytes ? { kind: 'desired', desired: decode(bytes) } : { kind: 'none' }
      } catch (error) {
        unreadable = true
        return { kind: 'unreadable', problem: problemOf(error) }
      }
    },
    async save(desired) {
      const bytes = encode(desired)
      try {
        if (unreadable) await moveDurable('desired.aside', path, `${path}.unreadable`)
        unreadable = false
        await writeDurable('desired.save', path, bytes)
      } catch (error) {
        throw await namedIfFull(error, dirname(path), bytes.length, diskSpace)
      }
    },
  }
}

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

function encode({ snapshot, deletedIn }: Desired): Buffer {
  const head: z.infer<typeof Head> = { deleted_in: {} }
  for (const [id, epoch] of deletedIn) head.deleted_in[id] = epoch.toString()
  const rest = Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), toBinary(SnapshotSchema, snapshot)])
  return Buffer.concat([Buffer.from(`${MAGIC} ${VERSION} ${sha256(rest)}\n`), rest])
}

function decode(bytes: Buffer): Desired {
  if (!bytes.subarray(0, MAGIC.length).equals(Buffer.from(MAGIC)))
    return { snapshot: whole(bytes), deletedIn: new Map() }
  const [first, rest] = lineOf(bytes)
  const [, version = '', digest = ''] = first.split(' ')
  if (version !== String(VERSION)) throw new Error(`it is of version ${version}, this agent knows version ${VERSION}`)
  if (digest !== sha256(rest)) throw new Error('its bytes are not those that were written')
  const [head, body] = lineOf(rest)
  const { deleted_in } = Head.parse(JSON.parse(head))
  const deletedIn = new Map(Object.entries(deleted_in).map(([id, epoch]) => [id, BigInt(epoch)]))
  return { snapshot: whole(body), deletedIn }
}

function lineOf(bytes: Buffer): [line: string, rest: Buffer] {
  const end = bytes.indexOf(10)
  return [bytes.subarray(0, Math.max(end, 0)).toString('utf8'), bytes.subarray(end + 1)]
}

function whole(bytes: Uint8Array): Snapshot {
  const snapshot = fromBinary(SnapshotSchema, bytes)
  if (!snapshot.state) throw new Error(bytes.length === 0 ? 'it is empty' : 'it has no state')
  return snapshot
}
