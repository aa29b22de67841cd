import type { Http2Session } from 'node:http2'

const PING_MS = 4_000
const MAX_MISSES = 3

/** Destroys a session whose peer gave no sign of life for three pings; any received byte counts as one. */
export function watchSession(session: Http2Session, bytesRead: () => number, pingMs = PING_MS): void {
  let misses = 0
  let seen = bytesRead()
  const timer = setInterval(() => {
    const now = bytesRead()
    misses = now === seen ? misses + 1 : 0
    seen = now
    if (misses > MAX_MISSES) session.destroy()
    else if (!session.destroyed) session.ping(() => {})
  }, pingMs).unref()
  session.once('close', () => clearInterval(timer))
}
