import { existsSync } from 'node:fs'
import { access, constants, readFile, statfs } from 'node:fs/promises'
import os from 'node:os'
import { delimiter, join } from 'node:path'
import type { Run } from '../os/exec.ts'

const VERSION_DEADLINE_MS = 5_000

/** PRETTY_NAME of os-release text, else ID with VERSION_ID; empty when it says neither. */
export function osName(release: string): string {
  const values = new Map(
    release.split('\n').flatMap((line) => {
      const [, key, raw] = /^\s*([A-Z_]+)=(.*)$/.exec(line) ?? []
      return key === undefined || raw === undefined ? [] : [[key, raw.trim().replace(/^(["'])(.*)\1$/, '$2')] as const]
    }),
  )
  return values.get('PRETTY_NAME') ?? [values.get('ID'), values.get('VERSION_ID')].filter(Boolean).join(' ')
}

/** Of this host; empty when os-release says nothing. macOS tells only its kernel without a program to ask. */
export async function readOsName(platform: NodeJS.Platform = process.platform): Promise<string> {
  if (platform === 'darwin') return `macOS, Darwin ${os.release()}`
  for (const file of ['/etc/os-release', '/usr/lib/os-release']) {
    const text = await readFile(file, 'utf8').catch(() => '')
    if (text !== '') return osName(text)
  }
  return ''
}

export const archName = (arch: string): string => (arch === 'x64' ? 'x86_64' : arch === 'arm64' ? 'aarch64' : arch)

export type Init = 'systemd' | 'openrc' | 'none'

/** What runs as init, by the directory it makes at boot: having its programs installed proves nothing. */
export function detectInit(exists: (path: string) => boolean = existsSync): Init {
  if (exists('/run/systemd/system')) return 'systemd'
  return exists('/run/openrc') ? 'openrc' : 'none'
}

/**
 * Absolute path of a program on PATH and in the places root logins forget, or itself when it is named by a path;
 * undefined when it is not installed.
 */
export async function findProgram(name: string, path = process.env['PATH'] ?? ''): Promise<string | undefined> {
  if (name.includes('/')) return existsSync(name) ? name : undefined
  for (const dir of new Set([...path.split(delimiter), '/usr/local/sbin', '/usr/sbin', '/sbin', '/usr/bin', '/bin'])) {
    if (dir === '') continue
    const file = join(dir, name)
    if (
      await access(file, constants.X_OK).then(
        () => true,
        () => false,
      )
    )
      return file
  }
  return undefined
}

/** First line of `QEMU --version`; empty when it is not installed or does not run. */
export async function qemuVersion(qemu: string, run: Run): Promise<string> {
  try {
    const { code, stdout } = await run('vmm.ask-version', qemu, ['--version'], { timeoutMs: VERSION_DEADLINE_MS })
    return code === 0 ? (stdout.split('\n')[0] ?? '').trim().replace(/ \(.*\)$/, '') : ''
  } catch {
    return ''
  }
}

/** Of the filesystem that holds `dir`; free is what an ordinary writer may still use. */
export async function diskSpace(dir: string): Promise<{ bytes: number; freeBytes: number }> {
  const { blocks, bavail, bsize } = await statfs(dir)
  return { bytes: blocks * bsize, freeBytes: bavail * bsize }
}
