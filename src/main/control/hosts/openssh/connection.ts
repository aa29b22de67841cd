import net from 'node:net'
import type { Duplex } from 'node:stream'
import type { Fault } from '../../../../ipc/faults.ts'
import type { SshConnection } from '../ssh/connection.ts'
import type { HostKey } from '../ssh/host-keys.ts'
import { SessionSlots } from '../ssh/session-slots.ts'
import { lostFault, protocolFault } from '../ssh/sign-in-faults.ts'
import { OpenRefused, type SignedInMaster, Slaves } from './slaves.ts'

const FIRST_BYTE_TIMEOUT_MS = 15_000

/** A connection carried by the system's ssh, over one sign-in. `end` ends the master for good. */
export function opensshConnection(
  master: SignedInMaster,
  hostKey: HostKey,
  end: (reason: Fault) => void,
): SshConnection {
  const { host, gone } = master
  const slaves = new Slaves(master)
  const slots = new SessionSlots(host)
  const count = counter()
  const sockets = new Map<string, Promise<string>>()
  const listening = (remote: string): Promise<string> => {
    const known = sockets.get(remote)
    if (known) return known
    const made = slaves.listen(remote)
    made.catch(() => sockets.delete(remote))
    sockets.set(remote, made)
    return made
  }
  return {
    client: 'openssh',
    hostKey,
    rxBytes: count.bytes,
    async exec(command, { pty = false, lasting = false } = {}) {
      const channel = await slots.open(() => slaves.command(command, pty !== false), lasting)
      count.add(channel)
      return channel
    },
    async openSocket(path) {
      const socket = net.connect(await listening(path))
      count.add(socket)
      return firstByte(socket, () => {
        gone.throwIfAborted()
        throw protocolFault(master, 'the host did not open its socket')
      })
    },
    async openTcp(address, port) {
      const channel = await slaves.tcp(address, port).catch((error: unknown) => {
        throw error instanceof OpenRefused
          ? protocolFault(master, `it does not reach ${address}:${port}`, error)
          : error
      })
      count.add(channel)
      return channel
    },
    sftp: () => Promise.reject(protocolFault(master, 'the system ssh has no file transfer of its own')),
    closed: new Promise((resolve) => {
      const told = () => resolve(gone.reason as Fault)
      if (gone.aborted) told()
      else gone.addEventListener('abort', told, { once: true })
    }),
    close: () => end(lostFault(master)),
  }
}

/**
 * ssh takes the local end at once and hangs up when the host refuses the far one: only a byte of the peer says that it is
 * open. Agents speak first.
 */
function firstByte(socket: net.Socket, refuse: () => never): Promise<net.Socket> {
  return new Promise((resolve, reject) => {
    const settle = (end: () => void) => {
      clearTimeout(timer)
      socket.off('readable', readable).off('close', refused)
      end()
    }
    const refused = () =>
      settle(() => {
        socket.destroy()
        try {
          refuse()
        } catch (error) {
          reject(error)
        }
      })
    const readable = () => {
      if (socket.readableLength > 0) settle(() => resolve(socket))
      else if (socket.readableEnded || socket.destroyed) refused()
    }
    const timer = setTimeout(refused, FIRST_BYTE_TIMEOUT_MS)
    socket.on('error', () => {})
    socket.on('readable', readable)
    socket.on('close', refused)
  })
}

/** Bytes received by all channels, those that ended too: what is nearest to the socket, which only ssh sees. */
function counter() {
  const live = new Set<Counted>()
  let ended = 0
  return {
    bytes: () => [...live].reduce((sum, { bytesRead }) => sum + bytesRead, ended),
    add(stream: Counted) {
      live.add(stream)
      stream.once('close', () => {
        if (live.delete(stream)) ended += stream.bytesRead
      })
    },
  }
}

type Counted = Duplex & { readonly bytesRead: number }
