import { type FileHandle, open } from 'node:fs/promises'
import type { SFTPWrapper } from 'ssh2'
import { Fault } from '../../../../ipc/faults.ts'
import { KiB } from '../../../../ipc/units.ts'
import type { SshConnection } from './connection.ts'
import { collect, shellWord } from './exec.ts'
import { openCommand } from './open-command.ts'

export interface UploadOptions {
  /** Name of the host, for faults. */
  host: string
  source: string
  /** Created 0600 or truncated. */
  target: string
  signal: AbortSignal
  onProgress(done: number, total: number): void
}

/** Writes in flight; sized for distance: 37 MB/s at 50 ms, where a stream of single writes gets 2. */
const LANES = 64
const CHUNK_BYTES = 32 * KiB - 64

/** Copies a file to the host over SFTP, or by `cat` where there is no SFTP. Raises ssh/lost, agent/install-failed. */
export async function upload(connection: SshConnection, options: UploadOptions): Promise<void> {
  const file = await open(options.source)
  try {
    const { size } = await file.stat()
    const sftp = await connection.sftp().catch(() => undefined)
    if (sftp)
      await withLoss(connection, options.signal, sftpUpload(sftp, file, size, options)).finally(() => sftp.end())
    else await catUpload(connection, file, size, options)
  } finally {
    await file.close()
  }
}

/** SFTP calls never answer once the connection is gone: whoever waits for them waits for its end too. */
async function withLoss<T>(connection: SshConnection, signal: AbortSignal, work: Promise<T>): Promise<T> {
  let stop = () => {}
  const ended = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason)
    signal.addEventListener('abort', stop, { once: true })
    void connection.closed.then(reject)
  })
  ended.catch(() => {})
  work.catch(() => {})
  try {
    signal.throwIfAborted()
    return await Promise.race([work, ended])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

async function sftpUpload(sftp: SFTPWrapper, file: FileHandle, size: number, options: UploadOptions): Promise<void> {
  const { host, target, signal, onProgress } = options
  const call = <T>(start: (done: (error: unknown, value?: T) => void) => void): Promise<T> =>
    new Promise((resolve, reject) => {
      start((error, value) => (error ? reject(writeFault(host, target, error)) : resolve(value as T)))
    })
  const handle = await call<Buffer>((done) => sftp.open(target, 'w', 0o600, done))
  let next = 0
  let done = 0
  let failed = false
  const lane = async () => {
    const buffer = Buffer.allocUnsafe(CHUNK_BYTES)
    while (next < size && !failed && !signal.aborted) {
      const at = next
      const length = Math.min(CHUNK_BYTES, size - at)
      next += length
      const { bytesRead } = await file.read(buffer, 0, length, at)
      if (bytesRead !== length) throw writeFault(host, target, new Error('the file here changed while it was sent'))
      await call<void>((answer) => sftp.write(handle, buffer, 0, bytesRead, at, answer))
      done += bytesRead
      onProgress(done, size)
    }
  }
  const lanes = Array.from({ length: LANES }, lane)
  try {
    await Promise.all(lanes)
  } catch (error) {
    failed = true
    await Promise.allSettled(lanes)
    throw error
  }
  await call<void>((answer) => sftp.close(handle, answer))
}

async function catUpload(
  connection: SshConnection,
  file: FileHandle,
  size: number,
  { host, target, signal, onProgress }: UploadOptions,
): Promise<void> {
  const channel = await openCommand(
    connection,
    `/bin/sh -c ${shellWord(`umask 077; cat > ${shellWord(target)}`)}`,
    signal,
  )
  const ended = collect(channel, { host, signal, timeoutMs: CAT_TIMEOUT_MS })
  ended.catch(() => {})
  let done = 0
  for await (const chunk of file.createReadStream({ autoClose: false })) {
    if (!channel.write(chunk))
      await Promise.race([new Promise<void>((resolve) => channel.once('drain', () => resolve())), ended])
    done += (chunk as Buffer).length
    onProgress(done, size)
  }
  channel.end()
  const { code, stderr } = await ended
  if (code !== 0) throw writeFault(host, target, new Error(stderr.trim().slice(0, 200)))
}

const CAT_TIMEOUT_MS = 600_000

function writeFault(host: string, target: string, cause: unknown): Fault {
  if (cause instanceof Fault) return cause
  const detail = `${target}: ${(cause as Error).message}`.slice(0, 250)
  return new Fault('agent/install-failed', 'permanent', { host, detail }, { cause })
}
