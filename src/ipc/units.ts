export const KiB = 1024
export const MiB = 1024 * KiB
export const GiB = 1024 * MiB

/** Bounds of the wire. Every message, chunk and window of both contracts is one of these. */
export const LIMITS = {
  /** Largest message either side of the agent contract reads or writes, bytes. */
  agentMessageBytes: 4 * MiB,
  /** Most messages and unknown fields inside one such message: an empty one is 2 bytes encoded and a kilobyte decoded. */
  messageParts: 100_000,
  /** Largest request the fleet API reads, bytes. */
  fleetMessageBytes: 4 * MiB,
  /** Largest chunk of PutImage, bytes. */
  imageChunkBytes: MiB,
  /** Largest ConsoleData or console data frame, bytes. */
  consoleChunkBytes: 64 * KiB,
  /** Largest console input message, bytes. */
  consoleInputBytes: 64 * KiB,
  /** Most that is pasted into a console at once, bytes: a broker holds this for a slow guest, so it arrives whole. */
  consolePasteBytes: 256 * KiB,
  /** A console sender stops this far past the last ack, and goes on below the low mark. */
  consoleWindowBytes: 512 * KiB,
  consoleWindowLowBytes: 128 * KiB,
  /** A viewer acks at least this often, bytes. */
  consoleAckBytes: 64 * KiB,
  /** Largest data message of Forward, bytes. */
  forwardChunkBytes: 64 * KiB,
  /** Most that waits for a slow reader on either end of a tunnel, bytes, beside what the streams themselves hold. */
  tunnelBufferBytes: 256 * KiB,
  /** List of revoked SSH certificates as guests get it, bytes. */
  sshKrlBytes: 256 * KiB,
  /** Serial log kept per VM, bytes; its head is punched past this. */
  consoleLogBytes: 256 * MiB,
  /** user-data, bytes. */
  cloudInitBytes: 64 * KiB,
} as const

/** Periods and deadlines, ms, that both sides of a contract must agree on. */
export const TIMES = {
  reportMs: 10_000,
  /** A report older than this makes a host's values "last known". */
  staleMs: 15_000,
  snapshotWriteMs: 30_000,
  attachMs: 10_000,
  consoleOpenMs: 10_000,
} as const

/** Host ports given out where none was named: below what the kernel gives to clients, above what services are known by. */
export const RESERVED_PORTS = { first: 24_000, last: 24_999 } as const

/** Highest epoch of a snapshot: a change a millisecond for 140,000 years, and a number everywhere. */
export const MAX_EPOCH = 2n ** 52n

/** Version of the agent wire protocol this tree speaks. */
export const AGENT_PROTOCOL = 1
