import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import { z } from 'zod'
import { Fault } from '../../ipc/faults.ts'
import { readIfPresent, writeDurable } from '../os/files.ts'

const VERSION = 1

/** Fields it does not know are kept: a newer agent may have added some that change nothing for this one. */
const IdentityFile = z.looseObject({
  /** Absent = 1, as agents before the field wrote it. */
  version: z.int().optional(),
  host_id: z.string().regex(/^[0-9a-f]{32}$/),
  private_key: z.string(),
  fleet_id: z.string(),
  controller_name: z.string(),
  epoch: z.string().regex(/^\d+$/),
  epoch_digest: z.string(),
  created_at: z.string(),
  bridge_cidr: z.string(),
})
type IdentityFile = z.infer<typeof IdentityFile>
interface Parsed {
  file: IdentityFile
  key: KeyObject
}

/** Raises `agent/identity-damaged` or `agent/identity-newer` when an agent could not start with the file; none yet is well. Changes nothing. */
export async function requireUsable(path: string): Promise<void> {
  await read(path)
}

type Write = typeof writeDurable

/** Who this agent is and whom it belongs to. Every change is durable before its promise resolves. */
export class Identity {
  readonly #path: string
  readonly #write: Write
  readonly #key: KeyObject
  #file: IdentityFile
  #writes: Promise<void> = Promise.resolve()

  private constructor(path: string, { file, key }: Parsed, write: Write) {
    this.#path = path
    this.#write = write
    this.#file = file
    this.#key = key
  }

  /** Creates the file on first use. Raises `agent/identity-damaged` and `agent/identity-newer`; never replaces it. */
  static async load(path: string, now: () => number = Date.now, write: Write = writeDurable): Promise<Identity> {
    const found = await read(path)
    if (found) return new Identity(path, found, write)
    const key = generateKeyPairSync('ed25519').privateKey
    const file: IdentityFile = {
      version: VERSION,
      host_id: randomBytes(16).toString('hex'),
      private_key: key.export({ type: 'pkcs8', format: 'pem' }).toString(),
      fleet_id: '',
      controller_name: '',
      epoch: '0',
      epoch_digest: '',
      created_at: new Date(now()).toISOString(),
      bridge_cidr: '',
    }
    await write('identity.create', path, encode(file))
    return new Identity(path, { file, key }, write)
  }

  get hostId(): string {
    return this.#file.host_id
  }
  /** Empty = belongs to no fleet yet. */
  get fleetId(): string {
    return this.#file.fleet_id
  }
  get controllerName(): string {
    return this.#file.controller_name
  }
  /** Highest epoch ever accepted; 0 = none. */
  get epoch(): bigint {
    return BigInt(this.#file.epoch)
  }
  /** Hex digest that came with `epoch`. */
  get epochDigest(): string {
    return this.#file.epoch_digest
  }
  /** Network guests of this host live in; empty = none was settled. */
  get bridgeCidr(): string {
    return this.#file.bridge_cidr
  }

  /** Raw ed25519 public key, 32 bytes. */
  publicKey(): Buffer {
    const { x } = createPublicKey(this.#key).export({ format: 'jwk' })
    return Buffer.from(x!, 'base64url')
  }

  sign(message: Uint8Array): Buffer {
    return sign(null, message, this.#key)
  }

  /** Joins a fleet. A different fleet than before starts over at epoch 0: epochs belong to one control plane. */
  async adopt(fleetId: string, controllerName: string): Promise<void> {
    await this.#save((f) => ({
      ...f,
      fleet_id: fleetId,
      controller_name: controllerName,
      ...(f.fleet_id === fleetId ? {} : { epoch: '0', epoch_digest: '' }),
    }))
  }

  /** For good: guests may hold addresses in it, so a second one changes nothing. */
  async takeBridgeCidr(cidr: string): Promise<void> {
    await this.#save((f) => (f.bridge_cidr === '' ? { ...f, bridge_cidr: cidr } : f))
  }

  /** Never lowers; an equal epoch replaces only its digest. */
  async raiseEpoch(epoch: bigint, digest: string): Promise<void> {
    await this.#save((f) => (epoch < BigInt(f.epoch) ? f : { ...f, epoch: epoch.toString(), epoch_digest: digest }))
  }

  #save(change: (file: IdentityFile) => IdentityFile): Promise<void> {
    const next = this.#writes.then(async () => {
      const file = change(this.#file)
      if (file === this.#file) return
      await this.#write('identity.save', this.#path, encode(file))
      this.#file = file
    })
    this.#writes = next.catch(() => {})
    return next
  }
}

const encode = (file: IdentityFile): string => `${JSON.stringify(file, null, 2)}\n`

/** Undefined = no such file. */
async function read(path: string): Promise<Parsed | undefined> {
  const damaged = (detail: string, cause: unknown) =>
    new Fault('agent/identity-damaged', 'permanent', { file: path, detail }, { cause })
  const bytes = await readIfPresent(path).catch((error: unknown) => {
    throw damaged(error instanceof Error ? error.message : String(error), error)
  })
  if (!bytes) return undefined
  const version = versionOf(bytes.toString('utf8'))
  if (version > VERSION) {
    const params = { file: path, version: String(version), known: String(VERSION) }
    throw new Fault('agent/identity-newer', 'permanent', params)
  }
  try {
    return parse(bytes.toString('utf8'))
  } catch (error) {
    throw damaged(bytes.length === 0 ? 'it is empty' : problemOf(error), error)
  }
}

/** 0 = it says none that can be read: whether it is whole is another question. */
function versionOf(text: string): number {
  try {
    const { version } = JSON.parse(text) as { version?: unknown }
    return typeof version === 'number' ? version : 0
  } catch {
    return 0
  }
}

function parse(text: string): Parsed {
  const file = IdentityFile.parse(JSON.parse(text))
  return { file, key: createPrivateKey(file.private_key) }
}

function problemOf(error: unknown): string {
  if (error instanceof SyntaxError) return 'it is no JSON'
  return error instanceof z.ZodError ? 'parts of it are missing' : 'its key cannot be used'
}
