/** Who keeps a guest's clock; one authority each. What each does is in docs/clock.md. */
export const CLOCK_POLICIES = ['auto', 'host-only', 'network', 'none', 'windows-standalone', 'windows-domain'] as const
export type ClockPolicy = (typeof CLOCK_POLICIES)[number]

/** A policy from the wire; '' is "auto", and a word this build does not know is left to others: "none". */
export function clockPolicyOf(word: string): ClockPolicy {
  if (word === '') return 'auto'
  return CLOCK_POLICIES.find((policy) => policy === word) ?? 'none'
}

/** Windows reads its hardware clock and its host's in ways of its own: a guest gets that hardware at its start. */
export const isWindowsPolicy = (policy: string): boolean => policy.startsWith('windows-')
