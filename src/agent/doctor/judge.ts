import { installCommand, type PackagedPart } from '../../ipc/packages.ts'
import { GiB, MiB } from '../../ipc/units.ts'
import type { Acceleration } from '../facts/acceleration-probe.ts'

export const STATES = ['ok', 'warning', 'missing'] as const
export type State = (typeof STATES)[number]

/** One part of what the agent needs here. */
export interface Finding {
  part: string
  /** `missing`: no VM can be made or run without it. `warning`: something else suffers. */
  state: State
  /** What was found. */
  detail: string
  /** What does not work without it; '' when all is well. */
  breaks: string
  /** The command that mends it, for a shell; '' = no one command does. */
  mend: string
}

/** What the look found. Undefined and '' = not there, or it could not be told. */
export interface DoctorLook {
  platform: NodeJS.Platform
  /** x86_64 or aarch64. */
  machine: string
  packageManager: string
  /** Put before a command that needs root: '' for root. */
  sudo: string
  login: string
  /** `command` runs it again, for a shell; `flags` name its places where they are not the usual ones. */
  program: { version: string; node: string; command: string; flags: string }
  stateDir: { path: string; exists: boolean; problem: string; freeBytes: number | undefined }
  socket: { path: string; agent: AgentSeen | undefined; problem: string; denied: boolean }
  /** Agents that run elsewhere on this machine. */
  others: readonly { stateDir: string; socket: string; pid: number }[]
  /** Who holds the state directory. */
  lock: { pid: number; alive: boolean } | undefined
  /** Name and version of the hypervisor; '' = not installed. */
  hypervisor: { name: string; version: string }
  /** Version; '' = not installed. */
  imageTool: string
  acceleration: Acceleration
  kvm: { device: 'absent' | 'refused' | 'open'; cpu: 'intel' | 'amd' | ''; module: boolean; insideVm: boolean }
  /** Absolute paths of programs that are there. */
  tools: Partial<Record<'ip' | 'nft' | 'dnsmasq' | 'sftp-server', string>>
  /** Of the kernel: loaded, or there to be loaded. */
  modules: Partial<Record<'tun' | 'bridge', boolean>>
  /** '' = readable; undefined = none yet. */
  identity: { file: string; problem: string } | undefined
  records: { count: number; unreadable: { file: string; problem: string }[] }
  service: { startedBy: string; enabled: boolean; active: boolean; lingers: boolean } | undefined
  /** Undefined = nobody can say. */
  clockSynced: boolean | undefined
}

export interface AgentSeen {
  version: string
  pid: number
  stateDir: string
}

/** Below it no image fits, and the cache keeps as much free by itself. */
const NEEDED_FREE_BYTES = 256 * MiB
const WARN_FREE_BYTES = 2 * GiB

/** Every part, in the order a person would mend them. Pure. */
export function judge(look: DoctorLook): Finding[] {
  return [
    program(look),
    ...stateDir(look),
    ...(look.platform === 'linux' ? [hypervisor(look), imageTool(look)] : [hypervisor(look)]),
    acceleration(look),
    agent(look),
    lock(look),
    identity(look),
    records(look),
    service(look),
    clock(look),
    ...(look.platform === 'linux' ? optional(look) : []),
  ]
}

/** 0 = nothing is missing, 3 = something is. */
export const exitCodeOf = (findings: readonly Finding[]): number =>
  findings.some(({ state }) => state === 'missing') ? 3 : 0

const ok = (part: string, detail: string): Finding => ({ part, state: 'ok', detail, breaks: '', mend: '' })
const bad = (state: 'warning' | 'missing', part: string, detail: string, breaks: string, mend = ''): Finding => ({
  part,
  state,
  detail,
  breaks,
  mend,
})
const install = (look: DoctorLook, ...parts: PackagedPart[]): string =>
  installCommand(look.packageManager, parts, look.machine, look.packageManager === 'brew' ? '' : look.sudo)
/** A word for a shell. */
export const quoted = (text: string): string => (/^[\w./+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`)

const program = ({ program: { version, node, command } }: DoctorLook): Finding =>
  Number(node.split('.')[0]) >= 24
    ? ok('agent program', `${version}, ${command}, Node ${node}`)
    : bad('missing', 'agent program', `${version} runs on Node ${node}`, 'It needs Node 24 or newer.')

function stateDir({ stateDir: { path, exists, problem, freeBytes }, sudo, login }: DoctorLook): Finding[] {
  const part = 'state directory'
  if (problem !== '' && exists)
    return [
      bad(
        'missing',
        part,
        `${path}: ${problem}`,
        'No VM can be kept.',
        `${sudo || 'sudo '}chown -R ${login} ${quoted(path)}`,
      ),
    ]
  const found = exists
    ? ok(part, path)
    : problem === ''
      ? ok(part, `${path} is made at the first start`)
      : bad(
          'missing',
          part,
          `${path} cannot be made: ${problem}`,
          'No VM can be kept.',
          `${sudo}mkdir -p ${quoted(path)}`,
        )
  if (freeBytes === undefined) return [found]
  const free = `${(freeBytes / GiB).toFixed(1)} GiB free in ${path}`
  const look = `du -xh ${quoted(path)} | sort -h | tail`
  if (freeBytes < NEEDED_FREE_BYTES)
    return [found, bad('missing', 'disk space', free, 'No image and no disk can be written.', look)]
  return [
    found,
    freeBytes < WARN_FREE_BYTES
      ? bad('warning', 'disk space', free, 'Images and disks soon find no room; guests pause then.', look)
      : ok('disk space', free),
  ]
}

function hypervisor(look: DoctorLook): Finding {
  const { name, version } = look.hypervisor
  if (version !== '') return ok('hypervisor', version)
  const mend = look.platform === 'darwin' ? install(look, 'vfkit') : install(look, 'qemu')
  return bad('missing', 'hypervisor', `${name} is not installed`, 'No VM can run here.', mend)
}

const imageTool = (look: DoctorLook): Finding =>
  look.imageTool === ''
    ? bad('missing', 'qemu-img', 'not installed', 'No disk can be made for a VM.', install(look, 'qemu-img'))
    : ok('qemu-img', look.imageTool)

function acceleration(look: DoctorLook): Finding {
  const part = 'acceleration'
  const { acceleration: found, hypervisor: vmm, kvm } = look
  if (found.kind === 'kvm') return ok(part, 'KVM ran a guest')
  if (found.kind === 'vz') return ok(part, 'the Virtualization framework of macOS')
  if (found.kind === '')
    return bad(
      'missing',
      part,
      found.detail || 'no guest ran',
      'No VM can run here.',
      vmm.version === '' ? hypervisor(look).mend : '',
    )
  const slow = 'VMs run without KVM, about ten times slower.'
  if (kvm.device === 'refused')
    return bad(
      'warning',
      part,
      '/dev/kvm may not be opened by this user',
      slow,
      `${look.sudo}usermod -aG kvm ${quoted(look.login)}`,
    )
  if (kvm.device === 'open') return bad('warning', part, `/dev/kvm is there, but: ${found.detail}`, slow)
  if (kvm.cpu !== '' && !kvm.module)
    return bad(
      'warning',
      part,
      `the kernel module kvm_${kvm.cpu} is not loaded`,
      slow,
      `${look.sudo}modprobe kvm_${kvm.cpu}`,
    )
  if (kvm.insideVm)
    return bad(
      'warning',
      part,
      'this machine is itself a VM without nested virtualisation; it is turned on where that VM runs',
      slow,
    )
  return bad(
    'warning',
    part,
    'the CPU offers no virtualisation: turn on VT-x or AMD-V (SVM) in the firmware set-up',
    slow,
  )
}

function agent({ socket, others, service: by, program: { command, flags }, sudo, login }: DoctorLook): Finding {
  const part = 'agent'
  if (socket.agent) return ok(part, `${socket.agent.version}, pid ${socket.agent.pid}, answers on ${socket.path}`)
  const breaks = 'VMs run on, but nothing here changes and no console opens.'
  if (socket.denied)
    return bad(
      'warning',
      part,
      socket.problem,
      'This user cannot steer it; who is in its group can.',
      `${sudo}usermod -aG eitri ${quoted(login)}`,
    )
  const [other] = others
  if (other) {
    const mend = `${command} doctor --state-dir ${quoted(other.stateDir)}`
    return bad('warning', part, `${socket.problem} ${runsElsewhere(other)}`, breaks, mend)
  }
  const mend =
    by?.startedBy === 'systemd'
      ? `${sudo}systemctl restart eitri-agent`
      : by?.startedBy === 'systemd-user'
        ? 'systemctl --user restart eitri-agent'
        : by?.startedBy === 'openrc'
          ? `${sudo}rc-service eitri-agent restart`
          : `${command} start${flags}`
  return bad('warning', part, socket.problem, breaks, mend)
}

const runsElsewhere = ({ pid, stateDir }: DoctorLook['others'][number]): string =>
  `Another runs, pid ${pid}, with --state-dir ${stateDir}.`

function lock({ lock: holder, socket, stateDir: { path } }: DoctorLook): Finding {
  const part = 'lock'
  if (!holder) return ok(part, `nobody holds ${path}`)
  if (!holder.alive) return ok(part, `left by process ${holder.pid}, which is gone; the next agent takes it`)
  if (socket.agent?.pid === holder.pid) return ok(part, `held by the agent, pid ${holder.pid}`)
  return bad(
    'warning',
    part,
    `process ${holder.pid} holds ${path} and does not answer on ${socket.path}`,
    'No other agent starts on it.',
    `ps -fp ${holder.pid}`,
  )
}

function identity({ identity: found }: DoctorLook): Finding {
  const part = 'identity'
  if (!found) return ok(part, 'made at the first start')
  return found.problem === ''
    ? ok(part, found.file)
    : bad('missing', part, `${found.file}: ${found.problem}`, 'The agent does not start; its VMs run on.')
}

function records({ records: { count, unreadable } }: DoctorLook): Finding {
  const part = 'VM records'
  const [first] = unreadable
  if (!first) return ok(part, count === 1 ? '1 VM' : `${count} VMs`)
  return bad(
    'warning',
    part,
    `${unreadable.length} of ${count} cannot be read; first ${first.file}: ${first.problem}`,
    'Nothing is done to those VMs.',
    `ls -l ${quoted(first.file)}`,
  )
}

function service({ service: found, socket, others, program: { command, flags }, login, sudo }: DoctorLook): Finding {
  const part = 'start after a reboot'
  const breaks = 'After a reboot of the host its VMs stay down until the app connects.'
  const [other] = socket.agent ? [] : others
  if (!found && other) return bad('warning', part, `not installed here. ${runsElsewhere(other)}`, breaks)
  if (!found)
    return bad('warning', part, 'the agent is not installed here', breaks, `${sudo}${command} install --start${flags}`)
  const { startedBy, enabled, lingers } = found
  if (startedBy === 'app') return bad('warning', part, 'nothing on this host starts the agent', breaks)
  if (startedBy === 'systemd-user' && !lingers)
    return bad(
      'warning',
      part,
      `systemd ends what ${login} runs at logout`,
      breaks,
      `loginctl enable-linger ${quoted(login)}`,
    )
  if (startedBy.startsWith('systemd') && !enabled) {
    const mend = startedBy === 'systemd' ? `${sudo}systemctl enable eitri-agent` : 'systemctl --user enable eitri-agent'
    return bad('warning', part, 'the unit eitri-agent is not enabled', breaks, mend)
  }
  return ok(part, `by ${startedBy}`)
}

function clock(look: DoctorLook): Finding {
  const part = 'clock'
  if (look.clockSynced) return ok(part, 'kept by a time server')
  const breaks = 'Certificates look expired or not yet valid, and guests take a wrong time.'
  return look.clockSynced === undefined
    ? bad('warning', part, 'nothing here says who keeps it', breaks, install(look, 'chrony'))
    : bad('warning', part, 'not synchronised', breaks, `${look.sudo}timedatectl set-ntp true`)
}

/** What VMs run without: a bridge of their own, a faster upload of the agent. */
function optional(look: DoctorLook): Finding[] {
  const { tools, modules, sudo } = look
  const networks = 'VMs have no bridge: none reaches another, and none has an address this host can reach.'
  const tool = (part: 'ip' | 'nft' | 'dnsmasq' | 'sftp-server', breaks: string): Finding => {
    const path = tools[part]
    return path ? ok(part, path) : bad('warning', part, 'not installed', breaks, install(look, part))
  }
  const module = (name: 'tun' | 'bridge'): Finding =>
    modules[name]
      ? ok(`module ${name}`, 'there')
      : bad('warning', `module ${name}`, 'not in this kernel', networks, `${sudo}modprobe ${name}`)
  return [
    tool('ip', networks),
    tool('nft', networks),
    tool('dnsmasq', networks),
    module('tun'),
    module('bridge'),
    tool('sftp-server', 'The app sends a new agent more slowly.'),
  ]
}
