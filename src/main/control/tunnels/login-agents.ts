import { generateKeyPairSync } from 'node:crypto'
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { Fault } from '../../../ipc/faults.ts'
import { sshHostName } from '../../../ipc/names.ts'
import type { VmRow } from '../store/vm-row.ts'
import { LOGIN_MS } from '../trust/login-window.ts'
import { blobInLine, blobOf, canonicalLine } from '../trust/openssh/public-key.ts'
import { str } from '../trust/openssh/wire.ts'
import { type AgentState, agentMessages, answerAgent, type LoginIdentity } from './agent-protocol.ts'
import type { TunnelVm } from './tunnel-places.ts'

/** Longest path of a socket that every system takes, bytes. */
const MAX_SOCKET_PATH_BYTES = 103
const CLIENTS = 64

/** A VM people log in to. */
export interface LoginVm extends TunnelVm {
  readonly row: VmRow
}

export interface LoginAgentsDeps {
  /** Of this control plane alone. */
  dir: string
  /** One line; undefined = the guest was made to trust no CA, so that no certificate lets anybody in. Raises why there is none. */
  issue(vm: VmRow, login: string, publicKey: string): Promise<string | undefined>
  /** Lines that make ssh trust the guest. */
  knownHosts(vm: VmRow): string[]
}

interface Entry {
  identity: LoginIdentity | undefined
  server: Server
  holders: number
}

/**
 * SSH agents with one key each, made for one login to one VM and good for 30 minutes: a socket `LOGIN@HOST` and, beside
 * it, what `ssh` is to know of the guest's host key. Each is there while a tunnel holds it; no key is ever on a disk.
 */
export class LoginAgents {
  readonly #deps: LoginAgentsDeps
  readonly #entries = new Map<string, Entry>()
  #turn: Promise<unknown> = Promise.resolve()
  #ready: Promise<unknown> | undefined
  readonly #clients = new Set<Socket>()

  constructor(deps: LoginAgentsDeps) {
    this.#deps = deps
  }

  /** Mints a new certificate, which from now on is the one the socket has. Returns what lets go of it. */
  hold(vm: LoginVm, login: string): Promise<() => void> {
    const held = this.#turn.then(() => this.#hold(vm, login))
    this.#turn = held.catch(() => {})
    return held
  }

  /** Ends every socket. */
  async close(): Promise<void> {
    await this.#turn
    for (const [path, entry] of this.#entries) await this.#end(path, entry)
    for (const client of this.#clients) client.destroy()
  }

  async #hold({ row }: LoginVm, login: string): Promise<() => void> {
    const path = join(this.#deps.dir, `${login}@${sshHostName(row.tenant, row.name)}`)
    if (Buffer.byteLength(path) > MAX_SOCKET_PATH_BYTES) throw tooLong(path)
    const { publicKey, privateKey } = generateKeyPairSync('ed25519')
    const certificate = await this.#deps.issue(row, login, canonicalLine(blobOf(publicKey)))
    const identity = certificate ? { key: privateKey, certificate: blobInLine(certificate), login } : undefined
    await this.#emptied()
    await publish(
      knownAt(path),
      this.#deps
        .knownHosts(row)
        .map((line) => `${line}\n`)
        .join(''),
    )
    const entry = this.#entries.get(path) ?? (await this.#listen(path))
    entry.identity = identity
    entry.holders++
    return () => {
      this.#turn = this.#turn.then(() => {
        if (--entry.holders === 0) return this.#end(path, entry)
      })
    }
  }

  /** Once; what could not be done is tried again by the next. */
  async #emptied(): Promise<void> {
    this.#ready ??= emptied(this.#deps.dir)
    await this.#ready.catch((error: unknown) => {
      this.#ready = undefined
      throw error
    })
  }

  async #listen(path: string): Promise<Entry> {
    const server = createServer()
    const entry: Entry = { identity: undefined, server, holders: 0 }
    server.maxConnections = CLIENTS
    // One connection has one certificate, which it first lists and then signs with; a newer login brings another.
    server.on('connection', (socket) => {
      this.#clients.add(socket)
      socket.on('close', () => this.#clients.delete(socket))
      serve(socket, entry.identity)
    })
    await rm(path, { force: true })
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(path, resolve)
    })
    this.#entries.set(path, entry)
    return entry
  }

  async #end(path: string, { server }: Entry): Promise<void> {
    this.#entries.delete(path)
    // Closing it removes the socket's name; whoever is connected still gets an answer.
    server.close()
    await rm(knownAt(path), { force: true })
  }
}

/** Beside the socket of a login: what `ssh` is to know of the host key. */
export const knownAt = (path: string): string => `${path}.known`

function serve(socket: Socket, identity: LoginIdentity | undefined): void {
  const state: AgentState = { forwarded: false }
  let held = Buffer.alloc(0)
  socket.on('error', () => {})
  // Its certificate has ended by then.
  socket.setTimeout(LOGIN_MS, () => socket.destroy())
  socket.on('data', (bytes) => {
    const cut = agentMessages(Buffer.concat([held, bytes]))
    if (!cut) {
      socket.destroy()
      return
    }
    held = Buffer.from(cut.rest)
    for (const message of cut.messages) socket.write(str(answerAgent(message, identity, state)))
  })
}

async function publish(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text, { mode: 0o600 })
  await rename(`${path}.new`, path)
}

/** What a control plane that died has left there leads nowhere. */
async function emptied(dir: string): Promise<void> {
  await mkdir(dir, { recursive: true, mode: 0o700 })
  for (const name of await readdir(dir)) await rm(join(dir, name), { recursive: true, force: true })
}

const tooLong = (path: string) =>
  new Fault('input/invalid', 'permanent', {
    field: 'login',
    value: path.slice(-80),
    problem: `its socket ${path} would be longer than ${MAX_SOCKET_PATH_BYTES} bytes; use a shorter login, VM name or data folder`,
  })
