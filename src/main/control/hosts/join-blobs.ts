import { createHash, randomBytes } from 'node:crypto'
import type { Clock } from '../../../ipc/base/clock.ts'
import { encodeJoinBlob } from '../../../ipc/join-blob.ts'
import type { OwnKey } from './own-key.ts'

/** What is kept of a token. */
export const hashOfToken = (token: string): string => createHash('sha256').update(token).digest('hex')

/** Makes a blob for one host; its token is in it and nowhere else. Raises host/own-key-unusable, input/too-large. */
export async function makeJoinBlob(
  deps: {
    joinTokens: { add(tenant: string, hash: string, expiresAt: Date): void }
    key: Pick<OwnKey, 'publicKey'>
    fleetId: string
    clock: Pick<Clock, 'now'>
  },
  tenant: string,
  expiresS: number,
): Promise<{ blob: string; expiresAt: Date }> {
  const publicKey = await deps.key.publicKey()
  const token = randomBytes(32).toString('base64url')
  const expiresAt = Math.floor(deps.clock.now() / 1000) + expiresS
  const ends = new Date(expiresAt * 1000)
  deps.joinTokens.add(tenant, hashOfToken(token), ends)
  return { blob: encodeJoinBlob({ fleetId: deps.fleetId, publicKey, token, expiresAt }), expiresAt: ends }
}
