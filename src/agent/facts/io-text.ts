/** Bytes that went in and out since somebody began to count. */
export interface Flow {
  inBytes: bigint
  outBytes: bigint
}

/** Sectors of /proc/diskstats, whatever the disk's own are. */
const SECTOR = 512n

/** Read and written by each block device, from /proc/diskstats. */
export function diskFlows(diskstats: string): Map<string, Flow> {
  const flows = new Map<string, Flow>()
  for (const line of diskstats.split('\n')) {
    const [, , name, , , read, , , , written] = line.trim().split(/\s+/)
    if (name && isCount(read) && isCount(written))
      flows.set(name, { inBytes: BigInt(read) * SECTOR, outBytes: BigInt(written) * SECTOR })
  }
  return flows
}

/** Received and sent by each network interface, from /proc/net/dev. */
export function nicFlows(dev: string): Map<string, Flow> {
  const flows = new Map<string, Flow>()
  for (const line of dev.split('\n')) {
    const at = line.indexOf(':')
    if (at < 0) continue
    const counts = line
      .slice(at + 1)
      .trim()
      .split(/\s+/)
    const [received, sent] = [counts[0], counts[8]]
    if (isCount(received) && isCount(sent))
      flows.set(line.slice(0, at).trim(), { inBytes: BigInt(received), outBytes: BigInt(sent) })
  }
  return flows
}

/** What one process made storage read and write, from /proc/PID/io; undefined where the kernel does not say. */
export function processFlow(io: string): Flow | undefined {
  const read = /^read_bytes: (\d+)$/m.exec(io)?.[1]
  const written = /^write_bytes: (\d+)$/m.exec(io)?.[1]
  return read && written ? { inBytes: BigInt(read), outBytes: BigInt(written) } : undefined
}

/** All of them together; undefined of none, which is not zero. */
export function sumOf(flows: Iterable<Flow>): Flow | undefined {
  let sum: Flow | undefined
  for (const { inBytes, outBytes } of flows)
    sum = { inBytes: (sum?.inBytes ?? 0n) + inBytes, outBytes: (sum?.outBytes ?? 0n) + outBytes }
  return sum
}

const isCount = (text: string | undefined): text is string => text !== undefined && /^\d+$/.test(text)
