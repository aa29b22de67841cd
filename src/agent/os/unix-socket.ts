import { constants } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { openToRead } from './files.ts'

/**
 * Connects to `name` inside `dir` however long the path of `dir` is (a socket address holds 107 bytes): through the
 * directory's own descriptor, where the kernel offers that (macOS does not). The caller destroys the socket.
 */
export async function connectUnix(dir: string, name: string, timeoutMs: number): Promise<Socket> {
  const directory = await openToRead(dir, constants.O_DIRECTORY)
  try {
    return await new Promise<Socket>((resolve, reject) => {
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
        socket.removeAllListeners('error')
        resolve(socket)
      })
    })
  } finally {
    await directory.close()
  }
}
