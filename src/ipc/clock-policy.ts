/** Who keeps a guest's clock; one authority each. What each does is in docs/clock.md. */
export const CLOCK_POLICIES = ['auto', 'host-only', 'network', 'none', 'windows-standalone', 'windows-domain'] as const
export type ClockPolicy = (typeof CLOCK_POLICIES)[number]

/** A policy from the wire; '' is "auto", and a word this build does not know is left to others: "none". */
export function clockPolicyOf(word: string): ClockPolicy {
  if (word === '') return 'auto'
  return CLOCK_POLICIES.find((policy) => policy === word) ?? 'none'
}
