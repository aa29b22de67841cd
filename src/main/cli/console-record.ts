import { ConsoleClient, type ConsoleOptions, consoleUnavailable } from './console-client.ts'

export type RecordOptions = Pick<ConsoleOptions, 'socketPath' | 'askAs' | 'vm' | 'from' | 'tailBytes' | 'signal'>

/** Reads until the end the console had when it opened; raises its fault when there is no way to it now. */
export async function readRecord(
  options: RecordOptions,
  data: (bytes: Uint8Array) => Promise<void>,
): Promise<{ start: bigint; end: bigint; head: bigint }> {
  const at = { start: 0n, end: 0n, head: 0n }
  const client = new ConsoleClient({
    ...options,
    readOnly: true,
    opened(frame) {
      Object.assign(at, { start: frame.start, end: frame.end, head: frame.head })
      if (frame.start >= frame.end) client.close()
    },
    skipped(_, to) {
      at.start = to
      if (to >= at.end) client.close()
    },
    async data(bytes, offset) {
      const left = Number(at.end - offset)
      await data(bytes.subarray(0, left))
      if (left <= bytes.length) client.close()
    },
    state(link, detail) {
      if (link === 'reconnecting') fail(detail)
    },
  })
  const failed = Promise.withResolvers<never>()
  const fail = (detail: string) => {
    failed.reject(consoleUnavailable(detail))
    client.close()
  }
  await Promise.race([failed.promise, client.done])
  return at
}
