import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { type Problem, problemsOf } from '../../../ipc/rules.ts'
import { formatGib } from '../../lib/format.ts'

export interface CloneDraft {
  name: string
  vcpus: string
  memMb: string
  diskGb: string
  start: boolean
}

const MAX_NAME = 63

/** `db-3-clone`, or the first of `-clone-2`, `-clone-3` … that is free. */
export function cloneDraft(vm: Vm, isTaken: (name: string) => boolean): CloneDraft {
  const named = (suffix: string) => `${vm.name.slice(0, MAX_NAME - suffix.length).replace(/-+$/, '')}${suffix}`
  let name = named('-clone')
  for (let n = 2; isTaken(name); n++) name = named(`-clone-${n}`)
  return { name, vcpus: `${vm.vcpus}`, memMb: `${vm.memMb}`, diskGb: `${vm.diskGb}`, start: true }
}

export const cloneRequest = (vm: Vm, { name, vcpus, memMb, diskGb, start }: CloneDraft) => ({
  ...{ vm: vm.id, name, vcpus: sizeOf(vcpus), memMb: sizeOf(memMb), diskGb: sizeOf(diskGb) },
  power: start ? 'running' : 'stopped',
})

/** Empty = as the source. */
const sizeOf = (text: string): number => (text.trim() === '' ? 0 : Number(text))

export function cloneProblems(vm: Vm, draft: CloneDraft, isTaken: (name: string) => boolean): Problem[] {
  const request = cloneRequest(vm, draft)
  const problems = problemsOf('cloneVm', request).map(({ field, problem }) => ({
    field,
    problem: /number|^Invalid input/i.test(problem)
      ? 'use a whole number'
      : problem.replace(/mem_mb|disk_gb/, (w) => WORDS[w] ?? w),
  }))
  if (draft.name === '') problems.push({ field: 'name', problem: 'name it' })
  else if (isTaken(draft.name)) problems.push({ field: 'name', problem: 'this name is in use' })
  if (request.diskGb > 0 && request.diskGb < vm.diskGb)
    problems.push({ field: 'disk_gb', problem: `the disk it is copied from has ${formatGib(vm.diskGb)}` })
  return problems
}

const WORDS: Record<string, string> = { mem_mb: 'memory', disk_gb: 'disk' }

/** Why its disk cannot be copied now; undefined = it can. */
export function whyNotCloned(vm: Vm): string | undefined {
  if (vm.deletedAt) return 'It is in quarantine: undo its delete first.'
  if (vm.unowned) return 'It is not in this fleet: adopt it first.'
  if (vm.hostUnknown) return `${vm.hostName} does not answer, and copying a disk needs it now.`
  if (vm.desiredPower !== 'stopped')
    return 'It is to run. A disk is copied only while nothing writes to it: stop it first.'
  if (vm.power === 'running' || vm.power === 'paused') return 'It is still stopping.'
  if (vm.power !== 'stopped') return 'Its host has not said yet whether it is stopped.'
  if (vm.phase !== 'ready') return 'It has no whole disk yet to copy.'
  return undefined
}
