import { setTimeout } from 'node:timers/promises'
import { KiB } from '../../../ipc/units.ts'
import { readBounded } from '../../bounded-file.ts'
import type { Ports } from '../ports.ts'

const VARIABLE = 'EITRI_CA_PASSPHRASE_FILE'
const FILE_BYTES = 4 * KiB
const WAIT_MS = 15_000

/**
 * What opens files of CA keys: what a person typed at the start, else the first line of the file the environment names.
 * Read once. Undefined = neither; rejects when the file cannot be read or is empty.
 */
export function caPassphrase({ env, caPassphrase: typed }: Pick<Ports, 'env' | 'caPassphrase'>) {
  const file = env[VARIABLE]
  let read: Promise<string> | undefined
  return async (): Promise<string | undefined> => {
    if (typed !== undefined) return typed
    if (!file) return undefined
    read ??= firstLine(file)
    return await read
  }
}

async function firstLine(file: string): Promise<string> {
  const late = new AbortController()
  const nothing = setTimeout(WAIT_MS, undefined, { signal: late.signal, ref: false }).then(() => {
    throw new Error(`nothing came from it within ${WAIT_MS / 1000} s`)
  })
  nothing.catch(() => {})
  // A pipe is waited for, but not without end.
  const read = readBounded(file, FILE_BYTES, { waits: true })
  const text = await Promise.race([read, nothing])
    .catch((error: NodeJS.ErrnoException) => {
      throw new Error(`${VARIABLE} names ${file}, which cannot be read (${error.code ?? error.message})`)
    })
    .finally(() => late.abort())
  const line = text.toString('utf8').split(/\r?\n/)[0] ?? ''
  if (line === '') throw new Error(`${VARIABLE} names ${file}, which has no passphrase in its first line`)
  return line
}
