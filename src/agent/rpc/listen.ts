import { lstat, stat } from 'node:fs/promises'
import { createConnection, Server } from 'node:net'
import { basename, dirname } from 'node:path'
import type { Log } from '../../ipc/base/log.ts'
import { asFault, Fault } from '../../ipc/faults.ts'
import { TIMES } from '../../ipc/units.ts'
import { ensureDir, isAbsent, listDir, removeTree, setMode, setOwner } from '../os/files.ts'

/** sockaddr_un holds 108 bytes with its terminating zero, and sshd must be able to name the same path. */
const MAX_SOCKET_PATH_BYTES = 107
const PROBE_MS = 2_000

export interface SocketPlace {
  path: string
  /** 0o600, or 0o660 with the group that may steer. */
  mode: number
  /** Group of the socket and its directory; absent = the process's own. */
  gid?: number
}

/**
 * Listens where only the owner (and the group, when the mode says so) can connect. Replaces the socket of a dead agent;
 * raises agent/already-running for a live one and input/invalid for a path or directory that cannot be trusted.
 */
export async function listenOnSocket(server: Server, place: SocketPlace): Promise<void> {
  if (Buffer.byteLength(place.path) > MAX_SOCKET_PATH_BYTES)
    throw refused(place.path, `a socket path holds at most ${MAX_SOCKET_PATH_BYTES} bytes`)
  await ensureDirectory(place)
  if (await answers(place.path)) throw new Fault('agent/already-running', 'conflict', { socket: place.path })
  await removeTree('socket.remove', place.path)
  await bind(server, place.path)
  if (place.gid !== undefined) await setOwner('socket.owner', place.path, process.getuid?.() ?? 0, place.gid)
  await setMode('socket.mode', place.path, place.mode)
}

/**
 * Looks now and then whether the socket is still where it was put, and listens there again when somebody removed it:
 * nobody could reach the agent. Connections go on. Resolves the returned stop once nothing is under way.
 */
export function keepSocket(server: Server, place: SocketPlace, log: Log, everyMs: number = TIMES.reportMs) {
  let looking = Promise.resolve()
  const look = async () => {
    try {
      if (await listenAgain(server, place)) log.warn('rpc.socket-restored', { socket: place.path })
    } catch (error) {
      log.warn('rpc.socket-lost', { socket: place.path, error: asFault(error).message })
    }
  }
  const timer = setInterval(() => {
    looking = looking.then(look)
  }, everyMs).unref()
  return async (): Promise<void> => {
    clearInterval(timer)
    await looking
  }
}

/** False when the socket is there, or something else that is not ours to replace. */
async function listenAgain(server: Server, place: SocketPlace): Promise<boolean> {
  if (server.listening) {
    if (await isThere(place.path)) return false
    // Of the socket alone: an HTTP/2 server's own close ends its sessions.
    Server.prototype.close.call(server)
  }
  await listenOnSocket(server, place)
  return true
}

async function isThere(path: string): Promise<boolean> {
  try {
    await lstat(path)
    return true
  } catch (error) {
    return !isAbsent(error)
  }
}

async function ensureDirectory(place: SocketPlace): Promise<void> {
  const { path, mode, gid } = place
  const directory = dirname(path)
  const made = await ensureDir('socket.dir', directory)
  const found = await stat(directory)
  if (found.uid !== process.getuid?.() && found.uid !== 0) throw refused(directory, 'it belongs to somebody else')
  if (made || (await isHalfMade(place, found.mode))) {
    if (gid !== undefined) await setOwner('socket-dir.owner', directory, found.uid, gid)
    await setMode('socket-dir.mode', directory, (mode & 0o070) === 0 ? 0o700 : 0o750)
  } else if ((found.mode & 0o022) !== 0) throw refused(directory, 'others may write in it')
}

/** One that a starter made for the group and died before it let the group in: nobody else's is that empty. */
async function isHalfMade({ path, gid }: SocketPlace, mode: number): Promise<boolean> {
  if (gid === undefined || (mode & 0o777) !== 0o700) return false
  return (await listDir(dirname(path))).every((name) => name === basename(path))
}

/** Whether somebody accepts connections there. Nothing there, or a socket nobody serves, is false. */
export function answers(path: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = createConnection(path)
    const done = (settle: () => void) => {
      socket.destroy()
      settle()
    }
    socket.setTimeout(PROBE_MS, () => done(() => resolve(true)))
    socket.once('connect', () => done(() => resolve(true)))
    socket.once('error', (error: NodeJS.ErrnoException) =>
      done(() => {
        if (error.code === 'ENOENT' || error.code === 'ECONNREFUSED') resolve(false)
        else reject(refused(path, error.message, error))
      }),
    )
  })
}

function bind(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const before = process.umask(0o077)
    try {
      server.once('error', (error) => reject(refused(path, error.message, error)))
      server.listen(path, resolve)
    } finally {
      process.umask(before)
    }
  })
}

const refused = (value: string, problem: string, cause?: unknown) =>
  new Fault('input/invalid', 'permanent', { field: 'socket', value, problem }, cause === undefined ? {} : { cause })
