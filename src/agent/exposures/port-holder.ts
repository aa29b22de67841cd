import { createReadStream } from 'node:fs'
import { readdir, readFile, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { Protocol } from './exposure-plan.ts'

/** Of each table of sockets, bytes: a hundred thousand sockets. */
const MAX_TABLE_BYTES = 16 * 1024 * 1024
const LISTENING = '0A'

/** The program that has a port of this host, as "nginx (pid 812)"; '' = nobody here may know. Never rejects. */
export async function findPortHolder(protocol: Protocol, port: number, proc = '/proc'): Promise<string> {
  const tables = await Promise.all([protocol, `${protocol}6`].map((name) => readTable(join(proc, 'net', name))))
  const inodes = new Set(tables.flatMap((table) => socketsOn(table, protocol, port)))
  if (inodes.size === 0) return ''
  const pid = await ownerOf(inodes, proc)
  if (pid === '') return ''
  const name = await readFile(join(proc, pid, 'comm'), 'utf8').catch(() => '')
  const shown = name.replace(/[^\x20-\x7e]/g, '').slice(0, 64)
  return shown === '' ? `pid ${pid}` : `${shown} (pid ${pid})`
}

/** Inodes of the sockets that keep others from listening on a port, from the text of /proc/net/{tcp,udp}. Pure. */
export function socketsOn(table: string, protocol: Protocol, port: number): string[] {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  return table.split('\n').flatMap((line) => {
    const [, local = '', , state, , , , , , inode = ''] = line.trim().split(/\s+/)
    const keeps = local.endsWith(suffix) && (protocol === 'udp' || state === LISTENING)
    return keeps && /^[1-9]\d*$/.test(inode) ? [inode] : []
  })
}

async function readTable(path: string): Promise<string> {
  let text = ''
  try {
    for await (const part of createReadStream(path, { encoding: 'latin1', end: MAX_TABLE_BYTES })) text += part
  } catch {}
  return text
}

async function ownerOf(inodes: ReadonlySet<string>, proc: string): Promise<string> {
  const pids = (await readdir(proc).catch(() => [])).filter((name) => /^\d+$/.test(name))
  const wanted = new Set([...inodes].map((inode) => `socket:[${inode}]`))
  for (const pid of pids) {
    const fds = await readdir(join(proc, pid, 'fd')).catch(() => [])
    for (const fd of fds) {
      const link = await readlink(join(proc, pid, 'fd', fd)).catch(() => '')
      if (wanted.has(link)) return pid
    }
  }
  return ''
}
