import { constants } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { openToRead } from './files.ts'

/**
 * Connects to `name` inside `dir` however long the path of `dir` is (a socket address holds 107 bytes): through the
 * directory's own descriptor, where the kernel offers that (macOS does not). The caller destroys the socket; a peer that
 * dies closes it, and is no error that nobody heard.
 */
export async function connectUnix(dir: string, name: string, timeoutMs: number): Promise<Socket> {
  const directory = await openToRead(dir, constants.O_DIRECTORY)
  let connected: Socket
  try {
    connected = await new Promise<Socket>((resolve, reject) => {
      const socket = connect(process.platform === 'linux' ? `/proc/self/fd/${directory.fd}/${name}` : join(dir, name))
      const timer = setTimeout(() => {
        socket.destroy()
        reject(new Error(`no connection to ${name} in ${dir} within ${timeoutMs} ms`))
      }, timeoutMs)
      socket.once('error', (error) => {
        clearTimeout(timer)
        reject(error)
      })
      socket.once('connect', () => {
        clearTimeout(timer)
        resolve(socket)
      })
      // Stays: the peer may die before the caller listens.
      socket.on('error', () => {})
    })
  } finally {
    await directory.close()
  }
  if (connected.errored) throw connected.errored
  return connected
}
