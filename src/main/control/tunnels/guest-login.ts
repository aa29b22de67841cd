import { rm } from 'node:fs/promises'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { faultText } from '../../../ipc/fault-text.ts'
import { asFault, Fault } from '../../../ipc/faults.ts'
import { connectName, sshHostName } from '../../../ipc/names.ts'
import type { ActiveSession } from '../hosts/agent-connection.ts'
import { type GuestStream, openGuestStream } from './guest-stream.ts'
import { knownAt, type LoginAgents, type LoginVm } from './login-agents.ts'
import type { TunnelPlaces } from './tunnel-places.ts'

const SSH_PORT = 22

/** Everything ssh needs to log in to one guest once. */
export interface GuestLogin {
  login: string
  host: string
  hostKeyAlias: string
  /** Takes one connection, which is one to the guest's sshd. */
  socket: string
  identityAgent: string
  knownHosts: string
  /** Why the way to the guest broke, in words; empty = it did not. */
  why(): string
  /** Ends it, and what was made for it. Idempotent. */
  close(): void
}

interface GuestLoginParts {
  logins: LoginAgents
  places: TunnelPlaces
  /** Of the sockets of logins. */
  dir: string
  session: ActiveSession | undefined
  vm: LoginVm
  login: string
  signal: AbortSignal
}

let made = 0

/** Reaches the guest before anything else is made. Raises what `openGuestStream` does, port/too-many, and why there can be no login. */
export async function openGuestLogin(parts: GuestLoginParts): Promise<GuestLogin> {
  const { logins, places, dir, session, vm, login, signal } = parts
  if (!session) throw new Fault('host/no-answer', 'transient', { host: vm.hostName })
  const own = new AbortController()
  const undo: (() => void)[] = [places.take(vm), () => own.abort(new Fault('app/cancelled', 'cancelled'))]
  const close = () => {
    for (const step of undo.splice(0)) step()
  }
  try {
    let client: Socket | undefined
    let why = ''
    const both = AbortSignal.any([signal, own.signal])
    const stream = await openGuestStream({ session, vm, port: SSH_PORT, signal: both, drained: () => client?.resume() })
    undo.push(await logins.hold(vm, login))
    const socket = join(dir, `.g${++made}`)
    const server = createServer((connection) => {
      server.close()
      client = connection
      void carry(connection, stream).catch((error: unknown) => {
        const fault = asFault(error)
        if (fault.disposition !== 'cancelled') why = faultText(fault.code, fault.params).what
        connection.destroy()
      })
    })
    undo.push(() => {
      server.close()
      client?.destroy()
      void rm(socket, { force: true })
    })
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(socket, resolve)
    })
    const host = sshHostName(vm.row.tenant, vm.row.name)
    const identityAgent = join(dir, `${login}@${host}`)
    return {
      login,
      host,
      hostKeyAlias: connectName(vm.row.tenant, vm.row.name),
      socket,
      identityAgent,
      knownHosts: knownAt(identityAgent),
      why: () => why,
      close,
    }
  } catch (error) {
    close()
    throw error
  }
}

/** Until both sides have ended. Raises why it broke. */
async function carry(client: Socket, { outbox, bytes, over }: GuestStream): Promise<void> {
  client.on('error', () => {})
  client.on('data', (chunk: Buffer<ArrayBuffer>) => {
    if (!outbox.data(chunk)) client.pause()
  })
  client.on('end', () => outbox.end())
  client.on('close', () => outbox.close())
  for await (const chunk of bytes()) {
    if (client.destroyed) return
    if (!client.write(chunk)) await new Promise((resolve) => client.once('drain', resolve).once('close', resolve))
  }
  client.end()
  await over()
}
