import { type FileHandle, open } from 'node:fs/promises'
import { create } from '@bufbuild/protobuf'
import type { Clock } from '../../../ipc/base/clock.ts'
import { fromConnectError } from '../../../ipc/fault-wire.ts'
import { Fault } from '../../../ipc/faults.ts'
import { type PutAgentRequest, PutAgentRequestSchema } from '../../../ipc/gen/eitri/agent/v1/upgrade_pb.js'
import { LIMITS } from '../../../ipc/units.ts'
import type { ActiveSession } from './agent-connection.ts'
import type { Artefact } from './artefacts.ts'
import { type Pace, pacedPieces, paceFor } from './pace.ts'

/** A slow line takes its time; a dead one ends sooner by itself. */
const SEND_TIMEOUT_MS = 30 * 60_000

/** Puts an agent on the host of a session, beside the one that runs; answers its path there. Raises agent/upgrade-refused, host/disk-full, host/no-answer. */
export async function sendAgent(
  session: ActiveSession,
  artefact: Artefact,
  {
    host,
    clock,
    signal,
    onProgress,
  }: { host: string; clock: Clock; signal: AbortSignal; onProgress(done: number, total: number): void },
): Promise<string> {
  const until = AbortSignal.any([signal, AbortSignal.timeout(SEND_TIMEOUT_MS)])
  const file = await open(artefact.file)
  try {
    const connection = await session.connection.bulk(until)
    try {
      const pace = paceFor(connection, LIMITS.imageChunkBytes, () => clock.monotonic())
      const requests = putRequests(file, session.sessionId, artefact, pace, onProgress)
      return (await connection.client.putAgent(requests, { signal: until })).stagedPath
    } finally {
      connection.close(new Fault('app/cancelled', 'cancelled'))
    }
  } catch (error) {
    if (signal.aborted) throw signal.reason
    const { code, disposition, params } = fromConnectError(error, 'host/no-answer')
    throw new Fault(code, disposition, { ...params, host }, { cause: error })
  } finally {
    await file.close()
  }
}

async function* putRequests(
  file: FileHandle,
  sessionId: string,
  { sha256, sizeBytes, unpackedBytes, compressed }: Artefact,
  pace: Pace,
  sent: (done: number, total: number) => void,
): AsyncGenerator<PutAgentRequest> {
  const sizes = { sizeBytes: BigInt(sizeBytes), unpackedBytes: BigInt(unpackedBytes) }
  const value = { sessionId, sha256, gzip: compressed, ...sizes }
  yield create(PutAgentRequestSchema, { message: { case: 'start', value } })
  const shrank = () => new Fault('agent/upgrade-refused', 'permanent', { detail: 'its file here shrank' })
  const whole = { file, from: 0, size: sizeBytes, pace, sent: (at: number) => sent(at, sizeBytes), shrank }
  for await (const value of pacedPieces(whole))
    yield create(PutAgentRequestSchema, { message: { case: 'chunk', value } })
}
