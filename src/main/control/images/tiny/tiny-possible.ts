import { existsSync, readFileSync } from 'node:fs'

const TOOLS = ['apt-get', 'apt-cache', 'dpkg-deb']

export interface TinyPossible {
  possible: boolean
  /** Why not, for people; empty when possible. */
  detail: string
}

/** What is asked of this computer; a test lies here. */
export interface BuildHost {
  osRelease(): string
  hasTool(name: string): boolean
}

const thisHost: BuildHost = {
  osRelease: () => (existsSync('/etc/os-release') ? readFileSync('/etc/os-release', 'utf8') : ''),
  hasTool: (name) => ['/usr/bin', '/bin', '/usr/sbin', '/sbin'].some((dir) => existsSync(`${dir}/${name}`)),
}

/** Whether the tiny image can be built here; cheap enough to ask for every catalogue answer. */
export function tinyPossible(
  ports: { platform: NodeJS.Platform; arch: NodeJS.Architecture },
  host: BuildHost = thisHost,
): TinyPossible {
  const no = (detail: string): TinyPossible => ({ possible: false, detail })
  if (ports.platform !== 'linux' || ports.arch !== 'x64')
    return no(`it is built on Debian x86_64; this is ${ports.platform} ${ports.arch}`)
  const id = /^ID="?([^"\n]*)"?$/m.exec(host.osRelease())?.[1] ?? ''
  if (id !== 'debian') return no(`it is built from Debian packages; this is ${id || 'an unknown Linux'}`)
  const missing = TOOLS.filter((tool) => !host.hasTool(tool))
  if (missing.length > 0) return no(`${missing.join(', ')} missing`)
  return { possible: true, detail: '' }
}
