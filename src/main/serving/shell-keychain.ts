import { KeychainAnswer, type KeychainRequest } from '../../ipc/keychain-channel.ts'
import type { Keychain } from '../control/ports.ts'

/** Electron's end of a forked process: `process.parentPort`. */
export interface ParentPort {
  on(event: 'message', listener: (event: { data: unknown }) => void): unknown
  postMessage(message: KeychainRequest): void
}

/** A keychain may ask the person first. */
const ANSWER_MS = 120_000
const MAX_WAITING = 64

/** The keychain of the shell that forked this process; undefined where none did. */
export function shellKeychain(
  port: ParentPort | undefined = (process as { parentPort?: ParentPort }).parentPort,
): Keychain | undefined {
  if (!port) return undefined
  const waiting = new Map<number, (answer: KeychainAnswer) => void>()
  let next = 0
  port.on('message', ({ data }) => {
    const answer = KeychainAnswer.safeParse(data)
    if (answer.success) waiting.get(answer.data.id)?.(answer.data)
  })
  const ask = (keychain: KeychainRequest['keychain'], data: string): Promise<string> =>
    new Promise((resolve, reject) => {
      if (waiting.size >= MAX_WAITING) return reject(new Error('the keychain is busy'))
      const id = next++
      const timer = setTimeout(() => settle({ problem: 'the keychain does not answer' }), ANSWER_MS)
      const settle = (answer: Partial<KeychainAnswer>) => {
        clearTimeout(timer)
        waiting.delete(id)
        if (answer.data !== undefined) resolve(answer.data)
        else reject(new Error(answer.problem ?? 'the keychain gave no reason'))
      }
      waiting.set(id, settle)
      port.postMessage({ keychain, id, data })
    })
  return {
    seal: async (secret) => Buffer.from(await ask('seal', secret.toString('base64')), 'base64'),
    open: async (sealed) => Buffer.from(await ask('open', sealed.toString('base64')), 'base64'),
  }
}
