import { readdir } from 'node:fs/promises'
import { homedir } from 'node:os'
import { basename, dirname, isAbsolute, join } from 'node:path'
import { MiB } from '../../../../ipc/units.ts'
import { readBounded } from '../../../bounded-file.ts'

export interface ConfigHosts {
  /** Names a person can pick, in the order written; no patterns, no negations, no Match blocks. */
  hosts: string[]
  /** The configuration runs commands (`Match exec`) when ssh reads it for one host. */
  matchExec: boolean
}

const MAX_DEPTH = 8
const MAX_FILES = 256
const MAX_HOSTS = 5_000
const FILE_BYTES = MiB

/** Lists the names of an SSH configuration without running anything. What cannot be read is left out: never raises. */
export async function listConfigHosts(sshDir: string): Promise<ConfigHosts> {
  const seen = { hosts: new Set<string>(), files: new Set<string>(), matchExec: false }
  await readConfig(join(sshDir, 'config'), sshDir, 0, seen)
  return { hosts: [...seen.hosts].slice(0, MAX_HOSTS), matchExec: seen.matchExec }
}

interface Seen {
  hosts: Set<string>
  files: Set<string>
  matchExec: boolean
}

async function readConfig(file: string, sshDir: string, depth: number, seen: Seen): Promise<void> {
  if (depth > MAX_DEPTH || seen.files.size >= MAX_FILES || seen.files.has(file)) return
  seen.files.add(file)
  for (const [keyword, ...args] of configLines(await textOf(file))) {
    if (keyword === 'host') for (const name of args) if (/^[^*?!][^*?]*$/.test(name)) seen.hosts.add(name)
    if (keyword === 'match' && args.some((arg) => arg.toLowerCase() === 'exec')) seen.matchExec = true
    if (keyword === 'include')
      for (const pattern of args)
        for (const included of await expandInclude(pattern, sshDir)) await readConfig(included, sshDir, depth + 1, seen)
  }
}

/** Words of each line, keyword first and in lower case; `=`, tabs, quotes, CRLF and a byte order mark are accepted. */
export function configLines(text: string): string[][] {
  return text
    .replace(/^\ufeff/, '')
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const words = line.replace(/^(\S+?)\s*=\s*/, '$1 ').match(/"[^"]*"|\S+/g) ?? []
      const comment = words.findIndex((word) => word.startsWith('#'))
      const [keyword = '', ...args] = comment > 0 ? words.slice(0, comment) : words
      return [keyword.toLowerCase(), ...args.map((word) => word.replace(/^"(.*)"$/, '$1'))]
    })
}

async function textOf(file: string): Promise<string> {
  try {
    return (await readBounded(file, FILE_BYTES)).toString('utf8')
  } catch {
    return ''
  }
}

async function expandInclude(pattern: string, sshDir: string): Promise<string[]> {
  const path = pattern.startsWith('~/')
    ? join(homedir(), pattern.slice(2))
    : isAbsolute(pattern)
      ? pattern
      : join(sshDir, pattern)
  if (!/[*?]/.test(path)) return [path]
  const folder = dirname(path)
  if (/[*?]/.test(folder)) return []
  const match = new RegExp(
    `^${basename(path)
      .replace(/[.+^${}()|[\]\\]/g, '\\$&')
      .replace(/\*/g, '[^/]*')
      .replace(/\?/g, '[^/]')}$`,
  )
  const names = await readdir(folder).catch(() => [])
  return names
    .filter((name) => match.test(name))
    .sort()
    .map((name) => join(folder, name))
}
