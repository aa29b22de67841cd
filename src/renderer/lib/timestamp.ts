import type { Timestamp } from '@bufbuild/protobuf/wkt'

/** Ms since the epoch; undefined when the message was absent. */
export function msOf(timestamp: Timestamp | undefined): number | undefined {
  return timestamp === undefined ? undefined : Number(timestamp.seconds) * 1000 + Math.floor(timestamp.nanos / 1e6)
}
