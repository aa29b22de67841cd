import { request } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { z } from 'zod'
import { Fault } from '../../ipc/faults.ts'

const ANSWER_MS = 5_000

/** Whether anything listens on the socket. */
export function socketAnswers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path, () => {
      socket.destroy()
      resolve(true)
    })
    socket.on('error', () => resolve(false))
  })
}

/** A fresh link into the running control plane's browser shell. Raises app/not-running. */
export async function launchLink(apiSocket: string): Promise<string> {
  try {
    const body = await new Promise<string>((resolve, reject) => {
      const req = request({ socketPath: apiSocket, path: '/launch', method: 'POST', timeout: ANSWER_MS }, (res) =>
        text(res).then(resolve, reject),
      )
      req.on('timeout', () => req.destroy(new Error('no answer')))
      req.on('error', reject)
      req.end()
    })
    return z.object({ url: z.string() }).parse(JSON.parse(body)).url
  } catch (cause) {
    throw new Fault('app/not-running', 'transient', { socket: apiSocket }, { cause })
  }
}
