import type { Hello, Report } from '../../../ipc/gen/eitri/agent/v1/sync_pb.js'

/** What an agent says it was told last. */
export interface Seen {
  epoch: bigint
  /** Hex, of the content of that epoch; '' = it does not say. */
  sha256: string
}

const NOTHING: Seen = { epoch: 0n, sha256: '' }
const SHA256_BYTES = 32

/** Of a Hello or a Report. */
export const seenIn = ({ lastSeenEpoch, lastSeenSha256 }: Pick<Report, 'lastSeenEpoch' | 'lastSeenSha256'>): Seen => ({
  epoch: lastSeenEpoch,
  sha256: Buffer.from(lastSeenSha256.subarray(0, SHA256_BYTES)).toString('hex'),
})

/** As the session that lives has said last; without one nothing is known. */
export const seenBy = ({ session, seen }: { session?: { hello: Hello }; seen?: Seen }): Seen =>
  session ? (seen ?? seenIn(session.hello)) : NOTHING
