import { lstat, readdir, readlink } from 'node:fs/promises'
import { dirname, join, sep } from 'node:path'
import { Fault } from '../../ipc/faults.ts'
import { GUEST_BRIDGE } from '../network/guest-network.ts'
import { removeAllMends } from '../network/network-mend.ts'
import { lookAtNetwork } from '../network/preflight.ts'
import { removeOwnNetwork } from '../network/remove-network.ts'
import { removeOperatorNics } from '../network/remove-operator-nics.ts'
import { readIfPresent, removeEmptyDir, removeTree } from '../os/files.ts'
import { agentLayout } from '../records/layout.ts'
import { undoAgentGroup } from './agent-group.ts'
import type { HostAccess } from './host-access.ts'
import { readInstall, STARTERS } from './install-record.ts'
import { forgetJoined, readJoined } from './joined-record.ts'
import { clearInstallLeftovers } from './leftovers.ts'
import { removeLoginUser } from './login-user.ts'
import { agentPlaces } from './places.ts'
import { service } from './service.ts'
import { stopAgent } from './start.ts'

export interface UninstallFlags {
  user?: boolean
  /** Also the state directory: identity, images and the VMs' disks. */
  purge?: boolean
  stateDir?: string
  socket?: string
}

/** `uninstall --json`: what is gone, and what stays and why. */
export interface Uninstalled {
  removed: string[]
  left: string[]
}

/**
 * Undoes install: idempotent. VMs and their data stay unless `purge`, which raises vm/stop-failed while one runs,
 * before anything is touched.
 */
export async function uninstall(input: UninstallFlags & { host: HostAccess }): Promise<Uninstalled> {
  const { host, user = false, purge = false } = input
  const places = agentPlaces(host.login, {
    asUser: user,
    stateDir: input.stateDir,
    socket: input.socket,
    prefix: host.prefix,
  })
  const installed = await readInstall(places.stateDir)
  const socket = input.socket ?? installed?.socket ?? places.socket
  const vmsRunning = await runningBelow(join(places.stateDir, 'vms'))
  if (purge && vmsRunning > 0)
    throw new Fault('vm/stop-failed', 'permanent', { vm: `${vmsRunning} VMs`, detail: 'they still run here' })
  const removed: string[] = []
  const left: string[] = []
  const root = host.login.uid === 0 && !user
  for (const kind of STARTERS) {
    if (root ? kind === 'systemd-user' : kind === 'systemd' || kind === 'openrc') continue
    removed.push(
      ...(await service(kind, host)
        .disable()
        .catch(() => [])),
    )
  }
  if (await stopAgent(socket)) removed.push('the running agent')
  const look = () => lookAtNetwork(host.run, { bridge: GUEST_BRIDGE, guestCidr: '', operatorBridges: [] })
  const mends = await removeAllMends(host.run, { readIfPresent }, agentLayout(places.stateDir).networkMends, look)
  removed.push(...mends.removed)
  left.push(...mends.left)
  if (root && vmsRunning === 0) {
    const vmIds = await readdir(agentLayout(places.stateDir).vms).catch(() => [])
    removed.push(...(await removeOperatorNics(host.run, vmIds)))
  }
  for (const path of [places.link, places.libDir, join(places.stateDir, 'install.json')])
    if (await removeIfPresent(path)) removed.push(path)
  const joined = root ? await readJoined(agentLayout(places.stateDir).joined) : undefined
  if (joined) {
    removed.push(...(await removeLoginUser(host, { home: joined.home, made: joined.user_made })))
    await forgetJoined(agentLayout(places.stateDir).joined)
  }
  await clearInstallLeftovers('uninstall.clean', host, places)
  if (root && installed) removed.push(...(await undoAgentGroup(host, installed.group)))
  const network = root ? await removeOwnNetwork(host.run, places.stateDir, vmsRunning > 0) : { removed: [], left: [] }
  removed.push(...network.removed)
  if (purge && (await removeIfPresent(places.stateDir))) removed.push(places.stateDir)
  if (input.socket === undefined) await removeEmptyDir('uninstall.socket-dir', dirname(socket)).catch(() => {})
  if (!purge && (await readdir(places.stateDir).catch(() => [])).length > 0)
    left.push(`${places.stateDir}: identity, images and VM disks`)
  if (vmsRunning > 0) left.push(`${vmsRunning} VMs that run`)
  left.push(...network.left)
  return { removed, left }
}

/** Processes whose working directory is below `dir`: a VM's hypervisor runs in the VM's own, agent or no agent. */
async function runningBelow(dir: string, proc = '/proc'): Promise<number> {
  const pids = (await readdir(proc).catch(() => [])).filter((name) => /^\d+$/.test(name))
  const places = await Promise.all(pids.map((pid) => readlink(join(proc, pid, 'cwd')).catch(() => '')))
  return places.filter((place) => place.startsWith(dir + sep)).length
}

/** True when something was removed. A mount point is emptied and stays. */
async function removeIfPresent(path: string): Promise<boolean> {
  const found = await lstat(path).catch(() => undefined)
  if (!found) return false
  try {
    await removeTree('uninstall.remove', path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EBUSY') throw error
    for (const name of await readdir(path)) await removeTree('uninstall.empty', join(path, name))
  }
  return true
}
