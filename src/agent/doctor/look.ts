import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { access, constants, readFile } from 'node:fs/promises'
import os from 'node:os'
import { dirname, join } from 'node:path'
import { asFault } from '../../ipc/faults.ts'
import { PACKAGE_MANAGERS } from '../../ipc/packages.ts'
import { BUILD_INFO } from '../build-info.ts'
import { type Acceleration, probeAcceleration } from '../facts/acceleration-probe.ts'
import { archName, diskSpace, findProgram, qemuVersion } from '../facts/system.ts'
import { readInstall } from '../install/install-record.ts'
import { agentPlaces, currentLogin } from '../install/places.ts'
import { commandOf, runningProgram } from '../install/self.ts'
import { look, run } from '../os/exec.ts'
import { holderOf } from '../os/lock.ts'
import { hostProcesses, hypervisorFacts } from '../platform.ts'
import { requireUsable } from '../records/identity.ts'
import { type AgentLayout, agentLayout } from '../records/layout.ts'
import { fileRecords } from '../records/vm-records.ts'
import { type AgentStatus, askStatus } from '../status/agent-status.ts'
import { describeSocketError } from '../status/socket-problem.ts'
import { type DoctorLook, quoted } from './judge.ts'

const SFTP_PLACES = ['/usr/lib/openssh', '/usr/libexec/openssh', '/usr/lib/ssh', '/usr/libexec', '/usr/lib/misc']

/** Looks at everything the judge asks about. Never raises for what is missing: that is what it looks for. */
export async function lookAtHost(stateDir: string, socket: string): Promise<Omit<DoctorLook, 'others'>> {
  const { platform } = process
  const layout = agentLayout(stateDir)
  const login = currentLogin()
  const status = await askStatus(socket)
  const { hypervisor, probe = probeAcceleration } = hypervisorFacts(platform, undefined)
  const version = await qemuVersion(hypervisor, run)
  return {
    platform,
    machine: archName(process.arch),
    packageManager: (await firstProgram(PACKAGE_MANAGERS)) ?? '',
    sudo: login.uid === 0 ? '' : 'sudo ',
    login: login.name,
    program: lookAtProgram(stateDir, socket),
    stateDir: await lookAtDir(stateDir),
    socket: lookAtSocket(socket, status),
    lock: await lookAtLock(layout),
    hypervisor: { name: hypervisor, version },
    imageTool: platform === 'linux' ? await imageToolVersion() : '',
    acceleration: await accelerationOf(status, stateDir, async () =>
      version === ''
        ? { kind: '', detail: `${hypervisor} is not installed` }
        : await probe({ run, qemu: hypervisor, arch: process.arch, dir: join(os.tmpdir(), `eitri-${randomUUID()}`) }),
    ),
    kvm: await lookAtKvm(),
    tools: await lookForTools(),
    modules: { tun: await hasModule('tun'), bridge: await hasModule('bridge') },
    identity: await lookAtIdentity(layout),
    records: await lookAtRecords(layout),
    service: await lookAtService(stateDir, login.name),
    clockSynced: clockSynced(),
  }
}

/** What the running agent found, if it is the one of this state directory; a second probe would only slow it down. */
async function accelerationOf(
  status: AgentStatus,
  stateDir: string,
  probe: () => Promise<Acceleration>,
): Promise<Acceleration> {
  const facts = status.running && status.status.stateDir === stateDir ? status.status.facts : undefined
  if (!facts || facts.accelerationPending || facts.acceleration === '') return await probe()
  return { kind: facts.acceleration as Acceleration['kind'], detail: facts.accelerationDetail }
}

function lookAtProgram(stateDir: string, socket: string): DoctorLook['program'] {
  const usual = agentPlaces(currentLogin())
  const flags = [
    ...(stateDir === usual.stateDir ? [] : ['--state-dir', stateDir]),
    ...(socket === usual.socket ? [] : ['--socket', socket]),
  ]
  return {
    version: BUILD_INFO.version,
    node: process.versions.node,
    command: commandOf(runningProgram()).map(quoted).join(' '),
    flags: flags.map((word) => ` ${quoted(word)}`).join(''),
  }
}

const may = (path: string, mode: number): Promise<boolean> =>
  access(path, mode).then(
    () => true,
    () => false,
  )

async function lookAtDir(path: string): Promise<DoctorLook['stateDir']> {
  const exists = existsSync(path)
  let standing = path
  while (!existsSync(standing)) standing = dirname(standing)
  const writable = await may(standing, constants.W_OK | constants.X_OK)
  const problem = writable ? '' : `${standing === path ? 'it' : standing} may not be written by this user`
  const freeBytes = await diskSpace(standing).then(
    (space) => space.freeBytes,
    () => undefined,
  )
  return { path, exists, problem, freeBytes }
}

function lookAtSocket(path: string, answer: AgentStatus): DoctorLook['socket'] {
  if (!answer.running) {
    const problem = describeSocketError(path, answer.reason)
    return { path, agent: undefined, problem, denied: answer.reason === 'denied' }
  }
  const { agentVersion, pid, stateDir } = answer.status
  return { path, agent: { version: agentVersion, pid, stateDir }, problem: '', denied: false }
}

async function lookAtLock({ lock }: AgentLayout): Promise<DoctorLook['lock']> {
  const holder = await holderOf(lock)
  return holder && { pid: holder.pid, alive: hostProcesses(process.platform).alive(holder) }
}

async function imageToolVersion(): Promise<string> {
  const text = said('qemu-img', ['--version'])
  return (
    (text ?? '')
      .split('\n')[0]
      ?.replace(/ \(.*\)$/, '')
      .trim() ?? ''
  )
}

async function lookAtKvm(): Promise<DoctorLook['kvm']> {
  const info = await readFile('/proc/cpuinfo', 'utf8').catch(() => '')
  const flags = new Set(/^flags\s*:\s*(.*)$/m.exec(info)?.[1]?.split(' '))
  const cpu = flags.has('vmx') ? 'intel' : flags.has('svm') ? 'amd' : ''
  const device = !existsSync('/dev/kvm')
    ? 'absent'
    : (await may('/dev/kvm', constants.R_OK | constants.W_OK))
      ? 'open'
      : 'refused'
  return { device, cpu, module: existsSync(`/sys/module/kvm_${cpu}`), insideVm: flags.has('hypervisor') }
}

async function lookForTools(): Promise<DoctorLook['tools']> {
  const tools: DoctorLook['tools'] = {}
  for (const name of ['ip', 'nft', 'dnsmasq'] as const) {
    const path = await findProgram(name)
    if (path) tools[name] = path
  }
  const sftp = SFTP_PLACES.map((dir) => join(dir, 'sftp-server')).find((path) => existsSync(path))
  if (sftp) tools['sftp-server'] = sftp
  return tools
}

/** Loaded, built in, or there to be loaded. */
async function hasModule(name: string): Promise<boolean> {
  if (existsSync(`/sys/module/${name}`)) return true
  const dir = join('/lib/modules', os.release())
  const lists = await Promise.all(
    ['modules.dep', 'modules.builtin'].map((list) => readFile(join(dir, list), 'utf8').catch(() => '')),
  )
  return lists.some((list) => new RegExp(`/${name}\\.ko`, 'm').test(list))
}

async function lookAtIdentity({ identity: file }: AgentLayout): Promise<DoctorLook['identity']> {
  if (!existsSync(file)) return undefined
  return await requireUsable(file).then(
    () => ({ file, problem: '' }),
    (error) => ({ file, problem: asFault(error).params['detail'] ?? asFault(error).code }),
  )
}

async function lookAtRecords(layout: AgentLayout): Promise<DoctorLook['records']> {
  const records = fileRecords(layout)
  const ids = await records.list().catch(() => [])
  const unreadable: DoctorLook['records']['unreadable'] = []
  for (const id of ids) {
    const read = await records.read(id)
    if (read.kind === 'unreadable') unreadable.push({ file: layout.vmDir(id).record, problem: read.problem })
  }
  return { count: ids.length, unreadable }
}

async function lookAtService(stateDir: string, login: string): Promise<DoctorLook['service']> {
  const installed = await readInstall(stateDir)
  if (!installed) return undefined
  const startedBy = installed.started_by
  const scope = startedBy === 'systemd-user' ? ['--user'] : []
  const unit = (question: string) => said('systemctl', [...scope, question, 'eitri-agent.service'])?.trim()
  const systemd = startedBy.startsWith('systemd')
  return {
    startedBy,
    enabled: !systemd || unit('is-enabled') === 'enabled',
    active: !systemd || unit('is-active') === 'active',
    lingers: said('loginctl', ['show-user', login, '--property=Linger', '--value'])?.trim() === 'yes',
  }
}

/** By who knows: systemd, else chrony. */
function clockSynced(): boolean | undefined {
  const systemd = said('timedatectl', ['show', '--property=NTPSynchronized', '--value'])?.trim()
  if (systemd === 'yes' || systemd === 'no') return systemd === 'yes'
  const leap = /^Leap status\s*: (.*)$/m.exec(said('chronyc', ['-n', 'tracking']) ?? '')?.[1]
  return leap === undefined ? undefined : leap === 'Normal'
}

async function firstProgram(names: readonly string[]): Promise<string | undefined> {
  for (const name of names) if (await findProgram(name)) return name
  return undefined
}

/** What a program that only looks printed; undefined when it is not there or does not end. */
function said(program: string, args: string[]): string | undefined {
  try {
    return look(program, args).stdout
  } catch {
    return undefined
  }
}
