import { lstatSync, readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { filesUnder } from './files-under.ts'

/** What there is of an agent and its VMs, seen from outside: processes, files and records, never the agent's word. */
export interface Sight {
  /** Pids of the hypervisors of each VM. */
  vmms: Map<string, number[]>
  /** Other processes that work in or on the state directory, the agent aside. */
  strays: string[]
  /** Relative to the state directory; directories end in `/`. */
  files: string[]
  /** Text of each VM's record. */
  records: Map<string, string>
}

/** What must be there of one VM. */
export interface ExpectedVm {
  running: boolean
  /** It ran and nobody asked it to stop: the same process must still run. */
  pid?: number
  /** Inode of its disk once it was whole. */
  disk?: number
  quarantined: boolean
  created: boolean
}

export interface Expected {
  vms: Map<string, ExpectedVm>
  /** Images acknowledged as whole. */
  images: Set<string>
}

/** Names an agent may keep in its state directory, and in a VM's. */
const STATE_FILES =
  /^(identity\.json|history\.(bin|damaged)|desired\.bin(\.unreadable)?|revoked-certificates\.krl|agent\.log(\.1)?|agent\.lock|reserve|images\/|vms\/|trash\/|images\/usage\.json|images\/[0-9a-f]{64}(\.kernel\/(kernel|initrd|cmdline)?)?|vms\/[0-9a-f]{32}\/)$/
const VM_FILES =
  /^(record\.json|history\.(bin|damaged)|disk\.qcow2|seed\.iso|host_key|qemu\.(pid|log|json)|(qmp|serial|guest)\.sock|serial\.log(\.head)?)$/

export function look(stateDir: string): Sight {
  const { vmms, strays } = processesOf(stateDir, true)
  const files = namesUnder(stateDir)
  const records = new Map<string, string>()
  for (const file of files) {
    const id = /^vms\/(\w+)\/record\.json$/.exec(file)?.[1]
    if (id !== undefined) records.set(id, readFileSync(join(stateDir, file), 'utf8'))
  }
  return { vmms, strays, files, records }
}

export function inodeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.ino
}

/** What is not as it must be, one sentence each. */
export function violations(stateDir: string, sight: Sight, expected: Expected): string[] {
  const found = [...sight.strays.map((argv) => `a process nobody owns: ${argv}`)]
  for (const [id, pids] of sight.vmms) {
    if (pids.length > 1) found.push(`${pids.length} hypervisors of VM ${id}`)
    if (!expected.vms.get(id)?.running) found.push(`a hypervisor of VM ${id}, which is to be off`)
  }
  for (const file of sight.files) {
    const [, id = '', name = ''] = /^vms\/([0-9a-f]{32})\/(.*)$/.exec(file) ?? []
    if (id !== '' && !expected.vms.has(id)) found.push(`a file of no VM: ${file}`)
    else if (name === '' ? !STATE_FILES.test(file) : !VM_FILES.test(name)) found.push(`a file nobody owns: ${file}`)
  }
  for (const sha256 of expected.images)
    if (!sight.files.includes(`images/${sha256}`)) found.push(`image ${sha256} was acknowledged and is gone`)
  for (const [id, vm] of expected.vms)
    found.push(...wrongWith(stateDir, sight, id, vm).map((what) => `VM ${id} ${what}`))
  return found
}

function wrongWith(stateDir: string, sight: Sight, id: string, vm: ExpectedVm): string[] {
  const wrong: string[] = []
  const pids = sight.vmms.get(id) ?? []
  if (vm.running && pids.length === 0) wrong.push('does not run')
  if (vm.pid !== undefined && pids[0] !== vm.pid) wrong.push(`has pid ${pids[0]}, had ${vm.pid}, and nobody stopped it`)
  const text = sight.records.get(id)
  if (text === undefined) return [...wrong, 'has no record']
  const record = JSON.parse(text) as { boot_id: string; quarantine: unknown; spec: { vmId: string } }
  if (record.spec.vmId !== id) wrong.push('has the record of another')
  if ((record.quarantine !== null) !== vm.quarantined)
    wrong.push(vm.quarantined ? 'is not in quarantine' : 'is in quarantine')
  if (!vm.created) return wrong
  if (record.boot_id === '') wrong.push('counts as never created')
  const inode = inodeOf(join(stateDir, 'vms', id, 'disk.qcow2'))
  if (inode === undefined) wrong.push('has lost its disk')
  else if (vm.disk !== undefined && inode !== vm.disk) wrong.push('has another disk than before')
  return wrong
}

/** Looks at the hypervisors over and over; `stop` says what it saw that must never be. */
export function watchVmms(stateDir: string, everyMs = 100): { stop(): string[] } {
  const seen = new Set<string>()
  const timer = setInterval(() => {
    for (const [id, pids] of processesOf(stateDir, false).vmms)
      if (pids.length > 1) seen.add(`at one time ${pids.length} hypervisors of VM ${id}`)
  }, everyMs)
  return {
    stop: () => {
      clearInterval(timer)
      return [...seen]
    },
  }
}

function processesOf(stateDir: string, all: boolean): Pick<Sight, 'vmms' | 'strays'> {
  const vmms = new Map<string, number[]>()
  const strays: string[] = []
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const cwd = quietly(() => readlinkSync(`/proc/${name}/cwd`)) ?? ''
    const vm = cwd.startsWith(join(stateDir, 'vms')) ? /\/vms\/([0-9a-f]{32})/.exec(cwd)?.[1] : undefined
    if (vm === undefined && !all) continue
    const argv = quietly(() => readFileSync(`/proc/${name}/cmdline`, 'latin1').split('\0')) ?? []
    if (vm !== undefined && /(^|\/)qemu-system-/.test(argv[0] ?? ''))
      vmms.set(vm, [...(vmms.get(vm) ?? []), Number(name)])
    else if (!argv.includes('serve') && argv.some((arg) => arg.includes(stateDir))) strays.push(argv.join(' ').trim())
  }
  return { vmms, strays }
}

function namesUnder(dir: string): string[] {
  return filesUnder(dir)
    .map((name) => (quietly(() => lstatSync(join(dir, name)).isDirectory()) ? `${name}/` : name))
    .sort()
}

function quietly<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
