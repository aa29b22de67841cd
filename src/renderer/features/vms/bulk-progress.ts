import { windowFaultText } from '../../../ipc/fault-text-window.ts'
import type { FaultData } from '../../../ipc/faults.ts'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import type { Tone } from '../../ui/state-word.tsx'
import type { BulkAct } from './bulk-plan.ts'
import { vmState, vmTrouble } from './view-model.ts'

/** One VM of a bulk act: not asked yet, accepted by the control plane, or refused by it. */
export interface BulkItem {
  id: string
  name: string
  hostName: string
  asked: 'waiting' | 'accepted' | 'refused' | 'skipped'
  fault?: FaultData
}

export interface BulkItemView {
  item: BulkItem
  step: 'waiting' | 'working' | 'held' | 'done' | 'failed' | 'skipped'
  tone: Tone
  /** What is true of it now. */
  text: string
  /** What a person can do; empty = nothing is needed. */
  next: string
}

const view = (item: BulkItem, step: BulkItemView['step'], tone: Tone, text: string, next = ''): BulkItemView => ({
  ...{ item, step, tone, text, next },
})

/** How far one VM is, by what its host says and not by what was asked. `vm` undefined = it is gone. */
export function bulkItemView(act: BulkAct, item: BulkItem, vm: Vm | undefined, nowMs: number): BulkItemView {
  if (item.asked === 'waiting') return view(item, 'waiting', 'quiet', 'not asked yet')
  if (item.asked === 'skipped') return view(item, 'skipped', 'quiet', 'not asked: you stopped the rest')
  if (item.asked === 'refused') {
    const { code, params } = item.fault ?? { code: 'app/bug' as const, params: {} }
    const { what, effect, next } = windowFaultText(code, params)
    return view(item, 'failed', 'bad', what, [effect, next].filter(Boolean).join(' '))
  }
  if (!vm) return view(item, 'done', 'quiet', 'gone')
  if (isDone(act, vm)) return view(item, 'done', 'good', vmState(vm, nowMs).word)
  if (vm.hostUnknown) return view(item, 'held', 'unknown', `waits for ${vm.hostName}, which does not answer`)
  // What kept it from running before says nothing of another act.
  const trouble = act.do === 'start' && vm.phase === 'failed' ? vmTrouble(vm) : undefined
  if (trouble)
    return view(item, 'failed', 'bad', trouble.words.what, [trouble.words.effect, trouble.words.next].join(' ').trim())
  const text = act.do === 'delete' ? `deleted; ${vm.hostName} has not confirmed it yet` : vmState(vm, nowMs).word
  return view(item, 'working', 'busy', text)
}

/** Whether it is as was asked, by its host's word. What only this app keeps is so once it was accepted. */
function isDone(act: BulkAct, vm: Vm): boolean {
  switch (act.do) {
    case 'start':
      return !vm.hostUnknown && vm.power === 'running' && vm.phase === 'ready'
    case 'stop':
      return !vm.hostUnknown && vm.power === 'stopped'
    case 'delete':
      return !vm.hostUnknown && vm.deletedAt !== undefined && vm.quarantineEndsAt !== undefined
    case 'undelete':
      return vm.deletedAt === undefined
    default:
      return true
  }
}

/** `9 stopped · 2 at work · 1 refused` */
export function bulkSummary(views: readonly BulkItemView[], doneWord: string): string {
  const count = (...steps: BulkItemView['step'][]) => views.filter(({ step }) => steps.includes(step)).length
  const parts: [number, string][] = [
    [count('done'), doneWord],
    [count('working'), 'at work'],
    [count('waiting'), 'to go'],
    [count('held'), 'waiting for a host'],
    [count('failed'), 'failed'],
    [count('skipped'), 'not asked'],
  ]
  return parts
    .filter(([n]) => n > 0)
    .map(([n, word]) => `${n} ${word}`)
    .join(' · ')
}
