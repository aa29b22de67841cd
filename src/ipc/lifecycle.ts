export const POWERS = ['running', 'paused', 'stopped', 'suspended'] as const
export type Power = (typeof POWERS)[number]

export const PHASES = ['creating', 'ready', 'failed'] as const
export type Phase = (typeof PHASES)[number]

export const LIFECYCLES = ['creating', 'ready', 'stopped', 'suspended', 'failed', 'deleting'] as const
export type Lifecycle = (typeof LIFECYCLES)[number]

/** A host's detail of a VM whose power is just being changed: what is seen of it will not last. */
export const UNDER_WAY = { booting: 'booting', stopping: 'stopping', returning: 'coming back from quarantine' } as const

/** What `--wait` may name: every lifecycle, and `gone` for a VM that is destroyed. */
export const WAIT_STATES = [...LIFECYCLES, 'gone'] as const
export type WaitState = (typeof WAIT_STATES)[number]

/** One coarse word for clients, computed on read; absent live values fall back to what is desired. No control loop may read it. */
export function lifecycleOf(vm: {
  deleted: boolean
  phase: string | undefined
  power: string | undefined
  desiredPower: string
}): Lifecycle {
  if (vm.deleted) return 'deleting'
  if (vm.phase === 'failed') return 'failed'
  if (vm.phase === undefined || vm.phase === 'creating') return 'creating'
  if (vm.power === 'suspended') return 'suspended'
  return (vm.power ?? vm.desiredPower) === 'stopped' ? 'stopped' : 'ready'
}
