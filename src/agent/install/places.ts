import { createHash } from 'node:crypto'
import { readFileSync, realpathSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'

/** Where an agent lives by default; all absolute. */
export interface AgentPlaces {
  /** Versioned executables lie below it. */
  libDir: string
  /** Link on PATH to the current executable. */
  link: string
  stateDir: string
  socket: string
}

export interface Login {
  uid: number
  name: string
  home: string
}

/** Group whose members may steer a root agent. */
export const AGENT_GROUP = 'eitri'

export const currentLogin = (): Login => {
  const { uid, username, homedir } = userInfo()
  return { uid, name: username, home: process.env['HOME'] || homedir }
}

export interface PlaceOptions {
  /** Root gets the places of a login. */
  asUser?: boolean
  stateDir?: string | undefined
  socket?: string | undefined
  /** Put before the machine-wide places; '' = the real ones. */
  prefix?: string
}

/** Root has one agent per machine; every other login its own. */
export function agentPlaces(login: Login, options: PlaceOptions = {}): AgentPlaces {
  const { asUser = false, stateDir, socket, prefix = '' } = options
  const root = login.uid === 0 && !asUser
  const local = join(login.home, '.local')
  const state = stateDir ?? (root ? join(prefix, '/var/lib/eitri') : join(local, 'state', 'eitri'))
  const shared = root && stateDir === undefined
  return {
    libDir: root ? join(prefix, '/usr/local/lib/eitri') : join(local, 'lib', 'eitri'),
    link: root ? join(prefix, '/usr/local/bin/eitri-agent') : join(local, 'bin', 'eitri-agent'),
    stateDir: state,
    socket: socket ?? (shared ? join(prefix, '/run/eitri/agent.sock') : join(state, 'run', 'agent.sock')),
  }
}

/** Where a control plane with the usual data folder has its own agent; it decides, this only finds it again. */
export function appPlace({ home }: Login, env: Readonly<Record<string, string | undefined>>) {
  const data = real(join(env['XDG_DATA_HOME'] || join(home, '.local', 'share'), 'eitri'))
  const id = createHash('sha256').update(data).digest('hex').slice(0, 8)
  const runtime = env['XDG_RUNTIME_DIR']
  const socket = runtime ? join(runtime, 'eitri', `${id}-agent.sock`) : join(data, 'run', 'agent.sock')
  return { stateDir: join(data, 'agent'), socket }
}

function real(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}

/** Group id by name from group(5) text; undefined when there is none. */
export function groupId(name: string, text: string): number | undefined {
  const fields = text.split('\n').map((line) => line.split(':'))
  const id = fields.find(([group]) => group === name)?.[2]
  return id !== undefined && /^\d+$/.test(id) ? Number(id) : undefined
}

/** Logins listed as members of a group in group(5) text. */
export function groupMembers(name: string, text: string): string[] {
  const fields = text.split('\n').map((line) => line.split(':'))
  return (fields.find(([group]) => group === name)?.[3] ?? '').split(',').filter(Boolean)
}

/** Who may connect: root shares its socket with the group where there is one, everybody else with nobody. */
export function socketAccess(login: Login, groups = readGroups()): { socketMode: number; socketGid?: number } {
  const gid = login.uid === 0 ? groupId(AGENT_GROUP, groups) : undefined
  return gid === undefined ? { socketMode: 0o600 } : { socketMode: 0o660, socketGid: gid }
}

function readGroups(): string {
  try {
    return readFileSync('/etc/group', 'utf8')
  } catch {
    return ''
  }
}
