/** Why no agent answered: no socket, a socket nobody serves, one we may not open, one that says nothing. */
export type SocketProblem = 'missing' | 'refused' | 'denied' | 'silent'

/** The problem behind an error of connect(2), however deep the client library has wrapped it. */
export function socketProblem(error: unknown): SocketProblem {
  for (let e = error, depth = 0; e instanceof Error && depth < 8; e = e.cause, depth++) {
    const { code } = e as NodeJS.ErrnoException
    if (code === 'ENOENT') return 'missing'
    if (code === 'ECONNREFUSED') return 'refused'
    if (code === 'EACCES' || code === 'EPERM') return 'denied'
  }
  return 'silent'
}

/** One sentence for people. */
export function describeSocketError(path: string, problem: SocketProblem): string {
  switch (problem) {
    case 'missing':
      return `No agent listens on ${path}: there is no such socket.`
    case 'refused':
      return `No agent listens on ${path}: the socket was left behind by one that ended.`
    case 'denied':
      return `The socket ${path} may not be opened by this user.`
    case 'silent':
      return `Something listens on ${path} but does not answer as an agent.`
  }
}
