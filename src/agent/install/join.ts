import { Fault } from '../../ipc/faults.ts'
import { decodeJoinBlob, type JoinBlob } from '../../ipc/join-blob.ts'
import { readIfPresent } from '../os/files.ts'
import { Identity } from '../records/identity.ts'
import { agentLayout } from '../records/layout.ts'
import { askStatus } from '../status/agent-status.ts'
import { keyFile, removeKey, writeKey, writeKeyFile } from './authorized-key.ts'
import { type InstallInput, install } from './install.ts'
import { readInstall } from './install-record.ts'
import { forgetJoined, readJoined, writeJoined } from './joined-record.ts'
import { ensureLoginUser, type LoginUser, removeLoginUser } from './login-user.ts'
import { agentPlaces } from './places.ts'

/** Clocks of two machines differ, and a person walks from one to the other. */
const SLACK_MS = 5 * 60_000

/** `join --json`: nothing of the blob is in it. */
export interface JoinedHost {
  fleet_id: string
  user: string
  expires_at: string
  version: string
  did: string[]
  warnings: string[]
}

/**
 * Lets one control plane in: installs this agent where none runs, and a login whose key may do nothing but speak to it.
 * The key ends with the blob unless the control plane comes. Raises agent/join-blob-invalid, agent/join-failed,
 * agent/install-failed; what it newly put there is then removed.
 */
export async function joinFleet(
  blob: string,
  input: Omit<InstallInput, 'start' | 'user'> & { now(): number },
): Promise<JoinedHost> {
  const { host, now, version } = input
  const joining = decodeJoinBlob(blob)
  if (host.login.uid !== 0)
    throw failed('only root can let a control plane in', 'Run it as root, with sudo for example.')
  if (joining.expiresAt * 1000 + SLACK_MS < now())
    throw failed('the blob has ended, by the clock of this host', 'Make a new one with "eitri host join-blob".')
  const places = agentPlaces(host.login, { stateDir: input.stateDir, socket: input.socket, prefix: host.prefix })
  const did: string[] = []
  const warnings: string[] = []
  const running = await askStatus(places.socket)
  if (!running.running || !(await readInstall(places.stateDir))) {
    const installed = await install({ ...input, start: true })
    did.push(...installed.did)
    warnings.push(...installed.warnings)
  }
  const login = await ensureLoginUser(host).catch((error: Error) => {
    throw failed(error.message)
  })
  try {
    const expiresAt = new Date(joining.expiresAt * 1000 + SLACK_MS)
    await letIn(joining, login, { ...places, executable: places.link }, expiresAt, now())
    did.push(`let the fleet ${joining.fleetId} in as ${login.user}, by its key alone`)
    warnings.push(...(await heldBy(places.stateDir, joining.fleetId)))
    return { fleet_id: joining.fleetId, user: login.user, expires_at: expiresAt.toISOString(), version, did, warnings }
  } catch (error) {
    if (login.made) await removeLoginUser(host, login).catch(() => {})
    throw error instanceof Fault ? error : failed(error instanceof Error ? error.message : String(error))
  }
}

/** Who was in before stays in when it fails: that may be the one way to this host. */
export async function letIn(
  { fleetId, publicKey, token }: JoinBlob,
  { user, home, gid, made }: LoginUser,
  { stateDir, executable, socket }: { stateDir: string; executable: string; socket: string },
  expiresAt: Date,
  now: number,
): Promise<void> {
  const path = agentLayout(stateDir).joined
  const before = await readJoined(path)
  const key = await readIfPresent(keyFile(home)).catch(() => undefined)
  try {
    await writeJoined(path, {
      ...{ fleet_id: fleetId, token, public_key: publicKey, user, home, gid, executable, socket },
      user_made: made || before?.user_made === true,
      expires_at: expiresAt.toISOString(),
      joined_at: new Date(now).toISOString(),
    })
    await writeKey({ home, publicKey, fleetId, executable, socket, expiresAt }, gid)
  } catch (error) {
    if (before) await writeJoined(path, before).catch(() => {})
    else await forgetJoined(path).catch(() => {})
    await (key && before ? writeKeyFile(home, key, before.gid) : removeKey(home)).catch(() => {})
    throw error
  }
}

/** Another control plane may hold this host: it then goes on holding it until a person takes it over. */
async function heldBy(stateDir: string, fleetId: string): Promise<string[]> {
  const identity = await Identity.load(agentLayout(stateDir).identity).catch(() => undefined)
  if (!identity || identity.fleetId === '' || identity.fleetId === fleetId) return []
  const who = identity.controllerName || 'another control plane'
  return [`This host is held by ${who}; "eitri host add NAME --ssh HOST --joined --take-over" moves it.`]
}

const failed = (detail: string, next?: string) =>
  new Fault('agent/join-failed', 'permanent', { host: 'This host', detail, ...(next ? { next } : {}) })
