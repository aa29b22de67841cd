import type { Clock } from '../../../ipc/base/clock.ts'

/** Longest an added host may take for the first report of its lasting link, ms. */
export const FIRST_REPORT_MS = 10_000

interface LiveHosts {
  live(hostId: string): { reportedAt?: Date }
  onChange(listener: (hostId: string) => void): () => void
}

/** Resolves once the host has reported, or after FIRST_REPORT_MS without: its link goes on by itself either way. */
export async function untilReported(registry: LiveHosts, hostId: string, clock: Clock): Promise<void> {
  const late = new AbortController()
  const { promise, resolve } = Promise.withResolvers<void>()
  const look = () => {
    if (registry.live(hostId).reportedAt) resolve()
  }
  const stop = registry.onChange((changed) => {
    if (changed === hostId) look()
  })
  look()
  try {
    await Promise.race([promise, clock.sleep(FIRST_REPORT_MS, late.signal).catch(() => {})])
  } finally {
    stop()
    late.abort()
  }
}
