import { type KeychainAnswer, KeychainRequest } from '../../ipc/keychain-channel.ts'

/** Of Electron's safeStorage, what is used. */
export interface SafeStorage {
  isAsyncEncryptionAvailable(): Promise<boolean>
  /** On Linux only. */
  getSelectedStorageBackend?(): string
  encryptStringAsync(text: string): Promise<Buffer>
  decryptStringAsync(sealed: Buffer): Promise<{ result: string }>
}

/** The forked control plane's end of the port. */
export interface Peer {
  on(event: 'message', listener: (message: unknown) => void): unknown
  postMessage(message: KeychainAnswer): void
}

/** Seals and opens for the control plane with a key that the keychain of this computer holds. Secrets pass through, none stays. */
export function serveKeychain(peer: Peer, storage: SafeStorage, platform: NodeJS.Platform): void {
  peer.on('message', (message) => {
    const request = KeychainRequest.safeParse(message)
    if (!request.success) return
    const { id } = request.data
    const answer = (part: Partial<KeychainAnswer>) => peer.postMessage({ keychain: 'answer', id, ...part })
    void work(request.data, storage, platform).then(
      (data) => answer({ data }),
      (error: unknown) => answer({ problem: (error instanceof Error ? error.message : String(error)).slice(0, 400) }),
    )
  })
}

async function work(request: KeychainRequest, storage: SafeStorage, platform: NodeJS.Platform): Promise<string> {
  if (!(await storage.isAsyncEncryptionAvailable())) throw new Error('the keychain of this computer cannot be used')
  // Without a keyring Chromium "encrypts" with a password that everybody knows.
  if (platform === 'linux' && storage.getSelectedStorageBackend?.() === 'basic_text')
    throw new Error('this desktop has no keyring')
  if (request.keychain === 'seal') return (await storage.encryptStringAsync(request.data)).toString('base64')
  return (await storage.decryptStringAsync(Buffer.from(request.data, 'base64'))).result
}
