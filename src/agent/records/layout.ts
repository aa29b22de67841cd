import { join } from 'node:path'
import { Fault } from '../../ipc/faults.ts'
import { isId } from '../../ipc/names.ts'

/** Where one VM's things are; all absolute but the socket names, which are relative to `dir` (see os/unix-socket.ts). */
export interface VmLayout {
  id: string
  dir: string
  record: string
  disk: string
  /** The disk of backends that take raw only; a VM has one of the two. */
  rawDisk: string
  seed: string
  pidfile: string
  /** What the hypervisor printed since its last start. */
  hypervisorLog: string
  /** Identity of the hypervisor process. */
  hypervisor: string
  /** One of the arguments of the hypervisor process, which nothing else in `dir` has. */
  argument: string
  qmpSocketName: string
  serialSocketName: string
  /** Channel of the guest agent. */
  guestSocketName: string
  serialLog: string
  /** What it took over the last day. */
  history: string
  /** Private half of the guest's host key, OpenSSH format. */
  hostKey: string
}

export interface AgentLayout {
  stateDir: string
  identity: string
  lock: string
  /** What the agent says where no journal takes it. */
  log: string
  /** The last accepted snapshot. */
  desired: string
  /** Revoked SSH certificates, for the operator's sshd. */
  revoked: string
  /** Changes of the host's network that a person asked for. */
  networkMends: string
  vms: string
  images: string
  /** Given back byte by byte when the disk is full. */
  reserve: string
  /** Emptied at start-up. */
  trash: string
  /** How the last upgrade goes, its newer agents not yet taken, its lock, and what the one that watches over it says. */
  upgrade: string
  staged: string
  upgradeLock: string
  upgradeLog: string
  /** How this host joined a fleet by a blob. */
  joined: string
  /** What the host took over the last day. */
  history: string
  /** Raises `input/invalid` for anything but a VM id, so that no id from outside becomes a path. */
  vmDir(id: string): VmLayout
}

/** Pure: names only, nothing is created. `stateDir` must be absolute. */
export function agentLayout(stateDir: string): AgentLayout {
  const vms = join(stateDir, 'vms')
  return {
    stateDir,
    identity: join(stateDir, 'identity.json'),
    lock: join(stateDir, 'agent.lock'),
    log: join(stateDir, 'agent.log'),
    desired: join(stateDir, 'desired.bin'),
    revoked: join(stateDir, 'revoked-certificates.krl'),
    networkMends: join(stateDir, 'network-mends.json'),
    vms,
    images: join(stateDir, 'images'),
    reserve: join(stateDir, 'reserve'),
    trash: join(stateDir, 'trash'),
    upgrade: join(stateDir, 'upgrade.json'),
    staged: join(stateDir, 'staged'),
    upgradeLock: join(stateDir, 'upgrade.lock'),
    upgradeLog: join(stateDir, 'upgrade.log'),
    joined: join(stateDir, 'joined.json'),
    history: join(stateDir, 'history.bin'),
    vmDir: (id) => vmLayout(vms, id),
  }
}

function vmLayout(vms: string, id: string): VmLayout {
  if (!isId(id))
    throw new Fault('input/invalid', 'permanent', {
      field: 'vm_id',
      value: id.slice(0, 80),
      problem: 'use 32 lower-case hex characters',
    })
  const dir = join(vms, id)
  return {
    id,
    dir,
    record: join(dir, 'record.json'),
    disk: join(dir, 'disk.qcow2'),
    rawDisk: join(dir, 'disk.raw'),
    seed: join(dir, 'seed.iso'),
    pidfile: join(dir, 'qemu.pid'),
    hypervisorLog: join(dir, 'qemu.log'),
    hypervisor: join(dir, 'qemu.json'),
    argument: `guest=${id}`,
    qmpSocketName: 'qmp.sock',
    serialSocketName: 'serial.sock',
    guestSocketName: 'guest.sock',
    serialLog: join(dir, 'serial.log'),
    history: join(dir, 'history.bin'),
    hostKey: join(dir, 'host_key'),
  }
}
