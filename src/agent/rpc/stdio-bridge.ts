import { connect, type Socket } from 'node:net'
import type { Readable, Writable } from 'node:stream'
import { describeSocketError, socketProblem } from '../status/socket-problem.ts'

/** First line of `rpc --stdio`; what a login shell printed before it is noise. */
export const STDIO_MAGIC = 'EITRI-AGENT-RPC 1\n'

/** Exit code when nothing can be bridged: no agent answers on the socket. */
export const EXIT_NO_AGENT = 3

export interface StdioBridge {
  socketPath: string
  stdin?: Readable
  stdout?: Writable
  stderr?: Writable
}

const CONNECT_MS = 5_000

/**
 * The magic line once the agent's socket is connected, then its raw bytes both ways; each direction ends on its own.
 * Resolves with the exit code: 0 when either side closed, EXIT_NO_AGENT with words on stderr and no magic line.
 */
export async function bridgeStdio({
  socketPath,
  stdin = process.stdin,
  stdout = process.stdout,
  stderr = process.stderr,
}: StdioBridge): Promise<number> {
  const socket = await open(socketPath).catch((error: Error) => error)
  if (socket instanceof Error) {
    stderr.write(`${describeSocketError(socketPath, socketProblem(socket))}\n`)
    return EXIT_NO_AGENT
  }
  return await new Promise((resolve) => {
    const done = () => {
      socket.destroy()
      stdin.destroy()
      resolve(0)
    }
    socket.once('error', done)
    stdout.once('error', done)
    stdin.once('error', () => socket.end())
    stdout.write(STDIO_MAGIC)
    stdin.pipe(socket)
    socket.pipe(stdout, { end: false })
    socket.once('end', () => stdout.end(done))
  })
}

function open(path: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ path, allowHalfOpen: true })
    const fail = (error: Error) => {
      socket.destroy()
      reject(error)
    }
    socket.setTimeout(CONNECT_MS, () => fail(new Error('no answer')))
    socket.once('error', fail)
    socket.once('connect', () => {
      socket.setTimeout(0)
      socket.off('error', fail)
      resolve(socket)
    })
  })
}
