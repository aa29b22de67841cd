import { Fault } from '../../../ipc/faults.ts'
import { MiB } from '../../../ipc/units.ts'
import type { Artefact, Artefacts } from './artefacts.ts'
import { LOOK_SCRIPT } from './look-script.ts'
import type { SshConnection } from './ssh/connection.ts'
import { runScript } from './ssh/script.ts'

/** What a look at a host saw. Empty and undefined = it could not be seen. */
export interface HostLook {
  platform: string
  /** "x86_64", "aarch64". */
  machine: string
  kernel: string
  hostname: string
  user: string
  isRoot: boolean
  home: string
  os: string
  osId: string
  /** Undefined with musl, or when the host cannot say. */
  glibc: { major: number; minor: number } | undefined
  musl: boolean
  init: 'systemd' | 'openrc' | 'none'
  kvm: 'usable' | 'denied' | 'absent'
  /** The processor can virtualise. */
  virtualisation: boolean
  qemu: boolean
  qemuImg: boolean
  /** "apt-get", "dnf", "yum", "zypper", "pacman", "apk". Empty = none known. */
  packageManager: string
  /** What sudo is to this login: not needed, without a password, with one, not there. */
  sudo: 'root' | 'free' | 'password' | 'none'
  /** It has doas, which cannot be given a password without a terminal and is not used. */
  doas: boolean
  hasGunzip: boolean
  hasSha256: boolean
  homeWritable: boolean
  homeFreeBytes: number | undefined
  systemFreeBytes: number | undefined
  /** The host's own Node.js, major version. */
  nodeMajor: number | undefined
  /** Login is in the group that may steer a root agent. */
  inGroup: boolean
  /** An agent's state is there already, or cannot be seen: perhaps with VMs. */
  hadRootState: boolean
  hadUserState: boolean
  /** An agent that is installed already. */
  agent: { executable: string; status: InstalledAgent | undefined } | undefined
}

/** What an installed agent says of itself; absent fields are unknown. */
export interface InstalledAgent {
  running: boolean
  socket?: string
  agentVersion?: string
  agentDigest?: string
  hostId?: string
  fleetId?: string
}

const LOOK_TIMEOUT_MS = 30_000
/** The oldest C library the agent executable runs on. */
const GLIBC = { major: 2, minor: 28 }
/** The unpacked agent with its upload beside it. */
export const INSTALL_NEEDS_BYTES = 320 * MiB

/** Runs the look over a signed-in connection. Raises ssh/protocol when the login runs no commands. */
export async function lookAtHost(connection: SshConnection, host: string, signal: AbortSignal): Promise<HostLook> {
  const { output } = await runScript(connection, LOOK_SCRIPT, { host, signal, timeoutMs: LOOK_TIMEOUT_MS })
  return parseLook(output)
}

/** Pure; lines it does not know are skipped. */
export function parseLook(output: string): HostLook {
  const values = new Map<string, string>()
  for (const line of output.split('\n')) {
    const at = line.indexOf('=')
    if (at > 0) values.set(line.slice(0, at), line.slice(at + 1).trim())
  }
  const text = (key: string) => values.get(key) ?? ''
  const glibc = /(\d{1,4})\.(\d{1,4})/.exec(text('glibc'))
  const node = /^v(\d{1,4})\./.exec(text('node'))
  const bytes = (key: string) => (/^\d+$/.test(text(key)) ? Number(text(key)) : undefined)
  return {
    platform: text('platform'),
    machine: text('machine'),
    kernel: text('kernel'),
    hostname: text('hostname'),
    user: text('user'),
    isRoot: text('uid') === '0',
    home: text('home'),
    os: text('os') || text('platform'),
    osId: text('os_id'),
    glibc: glibc ? { major: Number(glibc[1]), minor: Number(glibc[2]) } : undefined,
    musl: values.has('musl') && !glibc,
    init: oneOf(text('init'), ['systemd', 'openrc'], 'none'),
    kvm: oneOf(text('kvm'), ['usable', 'denied'], 'absent'),
    virtualisation: Number(text('vmx')) > 0,
    qemu: values.has('qemu'),
    qemuImg: values.has('qemu_img'),
    packageManager: text('packages'),
    sudo: oneOf(text('sudo'), ['root', 'free', 'password'], 'none'),
    doas: values.has('doas'),
    hasGunzip: values.has('has_gunzip') || values.has('has_gzip'),
    hasSha256: values.has('has_sha256sum'),
    homeWritable: values.has('home_writable'),
    homeFreeBytes: bytes('home_free'),
    systemFreeBytes: bytes('system_free'),
    nodeMajor: node ? Number(node[1]) : undefined,
    inGroup: text('groups').split(' ').includes('eitri'),
    hadRootState: values.has('root_state'),
    hadUserState: values.has('user_state'),
    agent: values.has('agent')
      ? { executable: text('agent'), status: parseAgentStatus(text('agent_status')) }
      : undefined,
  }
}

function oneOf<const T extends string, const D extends string>(value: string, known: T[], otherwise: D): T | D {
  return known.find((word) => word === value) ?? otherwise
}

function parseAgentStatus(json: string): InstalledAgent | undefined {
  let status: unknown
  try {
    status = JSON.parse(json)
  } catch {
    return undefined
  }
  if (typeof status !== 'object' || status === null) return undefined
  const fields = status as Record<string, unknown>
  const text = (key: string) => (typeof fields[key] === 'string' ? fields[key] : undefined)
  return {
    running: fields['running'] === true,
    ...defined({
      socket: text('socket'),
      agentVersion: text('agent_version'),
      agentDigest: text('agent_digest'),
      hostId: text('host_id'),
      fleetId: text('fleet_id'),
    }),
  }
}

function defined<T extends Record<string, string | undefined>>(values: T): { [K in keyof T]?: string } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: string
  }
}

/** Which file of the artefacts runs on this host; `machines` = those there is an executable for. Raises host/unsupported. */
export function executableFor(look: HostLook, host: string, machines: readonly string[]): 'executable' | 'bundle' {
  const unsupported = (detail: string, next?: string) =>
    new Fault('host/unsupported', 'permanent', { host, detail, ...(next ? { next } : {}) })
  if (look.platform !== 'Linux') throw unsupported(`it runs ${look.platform || 'an unknown system'}`)
  if (!look.hasGunzip || !look.hasSha256) throw unsupported('it has no gunzip or no sha256sum')
  const native = machines.includes(look.machine) && !look.musl && atLeast(look.glibc)
  if (native) return 'executable'
  if (look.nodeMajor !== undefined && look.nodeMajor >= 24) return 'bundle'
  const next = 'Install Node.js 24 or newer there, or use a Linux host with glibc 2.28 or newer, x86_64.'
  if (!machines.includes(look.machine)) throw unsupported(`its processor is ${look.machine}`, next)
  if (look.musl) throw unsupported('its C library is musl', next)
  throw unsupported(`its glibc is ${look.glibc?.major}.${look.glibc?.minor}`, next)
}

/** What to send to this host. Raises host/unsupported, app/part-missing. */
export function artefactFor(look: HostLook, host: string, artefacts: Artefacts): Artefact {
  // x86_64 is always meant to be there: not being built is a fault of this side.
  const machines = ['x86_64', ...(artefacts.find('executable', 'aarch64') ? ['aarch64'] : [])]
  return artefacts.get(executableFor(look, host, machines), look.machine)
}

const atLeast = (glibc: HostLook['glibc']): boolean =>
  glibc === undefined || glibc.major > GLIBC.major || (glibc.major === GLIBC.major && glibc.minor >= GLIBC.minor)

/** One line for the step: what a person wants to see of a host. */
export function lookWords(look: HostLook): string {
  const virtual = { usable: 'KVM', denied: '/dev/kvm is not readable for this login', absent: 'no KVM' }[look.kvm]
  return [look.os, look.machine, look.init === 'none' ? 'no service manager' : look.init, virtual].join(', ')
}
