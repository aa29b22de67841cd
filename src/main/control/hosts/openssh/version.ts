import { Fault } from '../../../../ipc/faults.ts'
import type { RunLocal } from '../ssh/config-reader.ts'

/** The first that asks a program about host keys. */
const OLDEST = { major: 8, minor: 5 }

/** Raises ssh/unsupported where there is no ssh that can carry a host, saying what to install. */
export async function requireOpenssh(
  host: string,
  { run, platform, signal }: { run: RunLocal; platform: NodeJS.Platform; signal: AbortSignal },
): Promise<void> {
  const unsupported = (next: string) =>
    new Fault('ssh/unsupported', 'permanent', { host, need: "the system's own ssh", next })
  if (platform === 'win32') throw unsupported('Add it from a computer with Linux or macOS.')
  const said = await run('ssh', ['-V'], signal)
  if (!said) throw unsupported('Install OpenSSH 8.5 or newer on this computer.')
  const version = versionIn(`${said.stderr}${said.stdout}`)
  if (version && isOlder(version))
    throw unsupported(`Install OpenSSH 8.5 or newer on this computer: it has ${version.text}.`)
}

interface Version {
  major: number
  minor: number
  text: string
}

/** Pure: of what `ssh -V` prints; undefined for another ssh, which is taken at its word. */
export function versionIn(text: string): Version | undefined {
  const found = /OpenSSH_(?:for_\w+_)?((\d+)\.(\d+))/.exec(text)
  return found ? { major: Number(found[2]), minor: Number(found[3]), text: found[1]! } : undefined
}

const isOlder = ({ major, minor }: Version): boolean =>
  major < OLDEST.major || (major === OLDEST.major && minor < OLDEST.minor)
