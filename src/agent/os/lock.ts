import { readlink } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Fault } from '../../ipc/faults.ts'
import { makeLink, removeTree } from './files.ts'
import type { Processes, ProcessIdentity } from './process.ts'

/** Tries to replace a dead holder's lock this often before giving up to another starter. */
const TRIES = 50
const RETRY_MS = 20

/**
 * Holds a directory for this process alone; the lock of a process that no longer runs is replaced. Raises
 * `agent/already-running` naming the holder's pid. Resolves with the release. The lock is a symlink that leads nowhere:
 * it comes into being with its text, and needs no block of a full disk.
 */
export async function takeLock(path: string, processes: Processes, pid = process.pid): Promise<() => Promise<void>> {
  const identity = processes.identify(pid)
  if (!identity) throw new Fault('app/bug', 'bug', { message: `process ${pid} cannot see itself in /proc` })
  const own = `${identity.pid}:${identity.startTime}:${identity.bootId}`
  for (let tries = 0; tries < TRIES; tries++) {
    if (await makeLink('lock.take', own, path)) {
      await dropDeadGuard(path, processes)
      return () => release(path, own)
    }
    const holder = await holderOf(path)
    if (holder && processes.alive(holder))
      throw new Fault('agent/already-running', 'conflict', { dir: dirname(path), pid: String(holder.pid) })
    if (!(await brokeDead(path, own, processes))) await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
  }
  throw new Fault('agent/already-running', 'conflict', { dir: dirname(path), pid: 'unknown' })
}

/** Removes a dead holder's lock; the look and the removal are one step among all who try. */
async function brokeDead(path: string, own: string, processes: Processes): Promise<boolean> {
  const guard = guardOf(path)
  if (!(await makeLink('lock.guard', own, guard))) {
    await dropDeadGuard(path, processes)
    return false
  }
  try {
    const holder = await holderOf(path)
    if (!holder || !processes.alive(holder)) await removeTree('lock.break', path)
    return true
  } finally {
    await removeTree('lock.unguard', guard)
  }
}

const guardOf = (path: string): string => `${path}.break`

async function dropDeadGuard(path: string, processes: Processes): Promise<void> {
  const guard = guardOf(path)
  if ((await textOf(guard)) === undefined) return
  const breaker = await holderOf(guard)
  if (!breaker || !processes.alive(breaker)) await removeTree('lock.unguard-dead', guard)
}

async function release(path: string, own: string): Promise<void> {
  if ((await textOf(path)) === own) await removeTree('lock.release', path)
}

/** As the lock says, running or not; undefined when nobody holds it or what is there is no lock. */
export async function holderOf(path: string): Promise<ProcessIdentity | undefined> {
  const [, pid, startTime, bootId] = /^(\d+):(\d+):(.+)$/.exec((await textOf(path)) ?? '') ?? []
  return startTime === undefined || bootId === undefined ? undefined : { pid: Number(pid), startTime, bootId }
}

const textOf = (path: string): Promise<string | undefined> => readlink(path).catch(() => undefined)
