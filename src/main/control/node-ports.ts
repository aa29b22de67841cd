import { createHash } from 'node:crypto'
import { existsSync, realpathSync } from 'node:fs'
import { homedir, hostname } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { systemClock } from '../../ipc/base/clock.ts'
import { lineLog } from '../../ipc/base/log.ts'
import { Fault } from '../../ipc/faults.ts'
import { logFile } from './log-file.ts'
import type { ControlPaths, Ports } from './ports.ts'
import { CaKeyFiles } from './trust/ca-keys.ts'
import { caPassphrase } from './trust/passphrase.ts'

declare const __EITRI_VERSION__: string | undefined

/** Longest path a unix socket can have, bytes. */
const MAX_SOCKET_PATH_BYTES = 107

export interface NodePortsInput {
  /** Empty or absent = `$XDG_DATA_HOME/eitri`, else `~/.local/share/eitri`. */
  dataDir?: string | undefined
  env?: Ports['env']
}

/** Where a control plane of this data folder keeps and finds things; makes nothing. Raises input/invalid for a folder too deep for a socket. */
export function controlPaths({ dataDir, env = process.env }: NodePortsInput = {}): ControlPaths {
  const home = env['HOME'] || homedir()
  const data = real(resolve(dataDir || join(env['XDG_DATA_HOME'] || join(home, '.local/share'), 'eitri')))
  const runtime = env['XDG_RUNTIME_DIR']
  const id = createHash('sha256').update(data).digest('hex').slice(0, 8)
  const socket = (inRuntime: string, inData: string) =>
    fitting(data, runtime ? join(runtime, 'eitri', inRuntime) : join(data, 'run', inData))
  const built = builtDir()
  return {
    dataDir: data,
    database: join(data, 'eitri.db'),
    lock: join(data, 'lock'),
    apiSocket: socket(`${id}.sock`, 'api.sock'),
    loginAgents: socket(`${id}-ssh`, 'ssh'),
    images: join(data, 'images'),
    localAgentState: join(data, 'agent'),
    localAgentSocket: socket(`${id}-agent.sock`, 'agent.sock'),
    logFile: join(data, 'log', 'control.log'),
    caKeys: join(data, 'cas'),
    // Packed, these are real files beside the archive: they are sent and run, not only read.
    agentArtefacts: join(built, 'agent').replace(/\bapp\.asar(?=[/\\])/, 'app.asar.unpacked'),
    renderer: existsSync(join(built, 'renderer', 'index.html')) ? join(built, 'renderer') : undefined,
    sshDir: join(home, '.ssh'),
  }
}

/** The real ports; opens the log file and with it makes the data folder. Raises input/invalid and store/unavailable. */
export function nodePorts(input: NodePortsInput = {}): Ports {
  const paths = controlPaths(input)
  return {
    clock: systemClock,
    log: lineLog(logFile(paths.logFile)),
    paths,
    env: input.env ?? process.env,
    version: appVersion(),
    platform: process.platform,
    arch: process.arch,
    controllerName: hostname(),
  }
}

/** Whether CA keys of this data folder are sealed by a passphrase, and whether the one given opens them. */
export const caPassphraseState = (ports: Ports): Promise<'none' | 'wanted' | 'opens' | 'wrong'> =>
  new CaKeyFiles({ dir: ports.paths.caKeys, passphrase: caPassphrase(ports) }).passphraseState()

/** With what the environment names for CA keys, read once: it may be a pipe. As they are when it cannot be read, which CAs then say. */
export async function withPassphraseOfEnv(ports: Ports): Promise<Ports> {
  const read = await caPassphrase(ports)().catch(() => undefined)
  return read === undefined ? ports : { ...ports, caPassphrase: read }
}

/** Version of this build; `0.1.0-dev` from source. */
export const appVersion = (): string => (typeof __EITRI_VERSION__ === 'undefined' ? '0.1.0-dev' : __EITRI_VERSION__)

/** One folder has one path, whatever links lead to it: sockets and locks are found by it. */
function real(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    const parent = dirname(path)
    return parent === path ? path : join(real(parent), basename(path))
  }
}

/** dist/: beside the bundle that runs, or in the checkout. */
const builtDir = (): string =>
  typeof __EITRI_VERSION__ === 'undefined'
    ? resolve(import.meta.dirname, '../../../dist')
    : resolve(import.meta.dirname, '..')

function fitting(dataDir: string, path: string): string {
  const bytes = Buffer.byteLength(path)
  if (bytes <= MAX_SOCKET_PATH_BYTES) return path
  throw new Fault('input/invalid', 'permanent', {
    field: 'data_dir',
    problem: `its socket ${path} would have ${bytes} bytes and a socket path has at most ${MAX_SOCKET_PATH_BYTES}; use a shorter folder`,
    value: dataDir.slice(0, 200),
  })
}
