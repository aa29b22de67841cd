/** Words for people: what happened, what it means for their things, what they can do. Each a sentence, or empty. */
export interface FaultText {
  what: string
  effect: string
  next: string
}

/** Of a fault. */
export type P = Record<string, string>

/** The pieces that sentences of faults are made of; a param that is missing never shows as such. */
export const or = (value: string | undefined, fallback: string) =>
  value === undefined || value === '' ? fallback : value
export const v = (p: P, key: string) => or(p[key], 'unknown')
export const host = (p: P) => or(p['host'], 'The host')
export const vm = (p: P) => or(p['vm'], 'The VM')
export const image = (p: P) => or(p['image'], 'The image')
export const why = (p: P) => (p['detail'] || p['message'] ? ` (${p['detail'] || p['message']})` : '')
export const t = (what: string, effect: string, next: string): FaultText => ({ what, effect, next })
export const NOTHING = 'Nothing was changed.'
