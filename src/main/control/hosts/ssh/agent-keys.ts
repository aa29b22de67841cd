import net from 'node:net'
import { KiB } from '../../../../ipc/units.ts'

const ANSWER_BYTES = 256 * KiB
const ANSWER_TIMEOUT_MS = 5_000
const REQUEST_IDENTITIES = 11
const IDENTITIES_ANSWER = 12

/**
 * Public halves of what an SSH agent holds, certificates and hardware keys too (ssh2 leaves both out). Empty when it does
 * not answer. Never raises.
 */
export async function agentKeyBlobs(socketPath: string): Promise<Buffer[]> {
  if (socketPath === '') return []
  const socket = net.connect(socketPath)
  socket.setTimeout(ANSWER_TIMEOUT_MS, () => socket.destroy())
  let answer = Buffer.alloc(0)
  try {
    socket.write(Buffer.from([0, 0, 0, 1, REQUEST_IDENTITIES]))
    for await (const chunk of socket) {
      answer = Buffer.concat([answer, chunk as Buffer])
      if (answer.length >= 4 && answer.length >= 4 + answer.readUInt32BE(0)) break
      if (answer.length > ANSWER_BYTES) return []
    }
  } catch {
    return []
  } finally {
    socket.destroy()
  }
  return identitiesIn(answer)
}

/** Pure: key blobs of an agent's answer; of a broken one those before the break. */
export function identitiesIn(answer: Buffer): Buffer[] {
  if (answer.length < 9 || answer[4] !== IDENTITIES_ANSWER) return []
  const blobs: Buffer[] = []
  let at = 9
  for (let left = answer.readUInt32BE(5); left > 0; left--) {
    const blob = stringAt(answer, at)
    if (!blob) break
    const comment = stringAt(answer, at + 4 + blob.length)
    if (!comment) break
    blobs.push(blob)
    at += 8 + blob.length + comment.length
  }
  return blobs
}

function stringAt(bytes: Buffer, at: number): Buffer | undefined {
  if (at + 4 > bytes.length) return undefined
  const end = at + 4 + bytes.readUInt32BE(at)
  return end > bytes.length ? undefined : bytes.subarray(at + 4, end)
}
