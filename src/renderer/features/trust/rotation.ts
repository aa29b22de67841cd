import type { Ca, VmTrust } from '../../../ipc/gen/eitri/fleet/v1/trust_pb.js'
import { msOf } from '../../lib/timestamp.ts'
import { type CaKind, cutOffWithout, isRetired } from './view-model.ts'

export type StepId = 'add' | 'spread' | 'sign' | 'retire'

export interface RotationStep {
  id: StepId
  state: 'done' | 'now' | 'later'
  what: string
  /** What it means, or how far it is. */
  detail: string
}

export interface Missing {
  vmId: string
  vmName: string
  why: string
}

export interface Rotation {
  kind: CaKind
  /** The one to go; undefined = none is left to replace. */
  old: Ca | undefined
  /** The one to come; undefined = it is not made yet. */
  next: Ca | undefined
  steps: RotationStep[]
  /** Guests that trust the new one, or hold a certificate of it. */
  done: number
  total: number
  missing: Missing[]
  /** VMs that nobody would get into if the old one were retired now. */
  cutOff: string[]
}

const MADE_BEFORE = 'made before it: what a guest trusts is written when it is made; clone it, or make it anew'
const NOT_RECORDED = 'what it trusts is not known here; clone it, or make it anew'
const RENEWS = 'its certificate is renewed while its host is connected and it runs'

/** Where the change from one authority to the next stands, from what the fleet says alone: it may be left and taken up at any time. */
export function rotationOf(kind: CaKind, cas: readonly Ca[], guests: readonly VmTrust[]): Rotation {
  const inUse = cas.filter((ca) => ca.kind === kind && !isRetired(ca))
  const byAge = [...inUse].sort((a, b) => (msOf(a.createdAt) ?? 0) - (msOf(b.createdAt) ?? 0))
  const maySign = byAge.filter(({ held, problem }) => held !== 'elsewhere' && problem === '')
  const next = maySign.length > 1 ? maySign.at(-1) : undefined
  const others = maySign.filter((ca) => ca !== next)
  const old = others.find(({ state }) => state === 'signing') ?? others[0]
  const holds = (guest: VmTrust) =>
    next !== undefined &&
    (kind === 'user' ? guest.userCas.includes(next.fingerprint) : guest.hostCa === next.fingerprint)
  const concerned = kind === 'user' ? guests : guests.filter(({ hostCa }) => hostCa !== '')
  const missing = next ? concerned.filter((guest) => !holds(guest)) : []
  const rotation = {
    ...{ kind, old, next, total: concerned.length, done: next ? concerned.length - missing.length : 0 },
    missing: missing.map(({ vmId, vmName, userCas }) => ({
      ...{ vmId, vmName },
      why: kind === 'host' ? RENEWS : userCas.length === 0 ? NOT_RECORDED : MADE_BEFORE,
    })),
    cutOff: old && next ? cutOffWithout(old, cas, guests) : [],
  }
  return { ...rotation, steps: stepsOf(rotation) }
}

function stepsOf({ kind, old, next, total, done, cutOff }: Omit<Rotation, 'steps'>): RotationStep[] {
  const signs = next?.state === 'signing'
  const progress = `${done} of ${total} ${total === 1 ? 'guest' : 'guests'}`
  const spread = { id: 'spread' as const, isDone: next !== undefined && done === total }
  const steps: { id: StepId; isDone: boolean; what: string; detail: string }[] = [
    {
      ...{ id: 'add', isDone: next !== undefined, what: 'Add the new authority' },
      detail: next ? `${next.name} is there.` : 'Made here, or imported. Nothing is signed with it yet.',
    },
    {
      ...spread,
      what: kind === 'user' ? 'Guests trust it' : 'Guests hold a certificate of it',
      detail: next ? `${progress} so far.` : 'VMs made from then on do.',
    },
    {
      ...{ id: 'sign', isDone: signs, what: 'Sign with it' },
      detail: signs
        ? 'New certificates are of it.'
        : `Until then ${old?.name ?? 'the old one'} signs on; both are taken.`,
    },
    {
      ...{ id: 'retire', isDone: false, what: `Retire ${old?.name ?? 'the old one'}` },
      detail:
        cutOff.length === 0
          ? 'Nobody loses access.'
          : `${cutOff.length} ${cutOff.length === 1 ? 'VM trusts' : 'VMs trust'} no other.`,
    },
  ]
  // A guest's certificate is made by who signs, so it can only follow.
  const order = kind === 'user' ? steps : [steps[0]!, steps[2]!, steps[1]!, steps[3]!]
  const now = order.findIndex(({ isDone }) => !isDone)
  return order.map(({ isDone, ...step }, at) => ({ ...step, state: isDone ? 'done' : at === now ? 'now' : 'later' }))
}
