import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Fault } from '../../../ipc/faults.ts'
import type { Keychain } from '../ports.ts'
import type { SecretKeeper } from './secrets.ts'

const HOST_ID = /^[0-9a-f]{32}$/

/** One file of 0600 for each host, sealed by the keychain: what lies on the disk opens with it alone. */
export function sealedSecrets(dir: string, keychain: Keychain): SecretKeeper {
  const fileOf = (hostId: string) => {
    if (!HOST_ID.test(hostId)) throw new Fault('app/bug', 'bug', { message: 'no id of a host' })
    return join(dir, hostId)
  }
  return {
    async read(hostId) {
      const sealed = await readFile(fileOf(hostId)).catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return undefined
        throw refused(error)
      })
      if (!sealed) return undefined
      return (await keychain.open(sealed).catch(rejected)).toString('utf8')
    },
    async write(hostId, secret) {
      const file = fileOf(hostId)
      const sealed = await keychain.seal(Buffer.from(secret)).catch(rejected)
      await mkdir(dir, { recursive: true, mode: 0o700 })
        .then(() => writeFile(`${file}.new`, sealed, { mode: 0o600 }))
        .then(() => rename(`${file}.new`, file))
        .catch(rejected)
    },
    async remove(hostId) {
      await rm(fileOf(hostId), { force: true }).catch(rejected)
    },
  }
}

function refused(cause: unknown): Fault {
  const why = cause instanceof Error ? cause.message.slice(0, 150) : ''
  const next = 'Unlock it and try again, or let the secrets stay in memory.'
  return new Fault('app/part-missing', 'transient', { part: `The system's keychain (${why})`, next }, { cause })
}

function rejected(cause: unknown): never {
  throw refused(cause)
}
