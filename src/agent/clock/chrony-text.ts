/** What a time service says of the clock it keeps. */
export interface Sync {
  state: 'synchronised' | 'not_synchronised'
  /** The clock minus its source; undefined = it does not say. */
  offsetUs: number | undefined
  stratum: number | undefined
  /** '' = it follows nobody. */
  source: string
}

/** Reference id of chrony's own clock: a source that is followed for want of any. */
const OWN_CLOCK = '7F7F0101'
const FIELDS = 14

/** Of `chronyc -c tracking`; undefined = that is none. */
export function trackingOf(csv: string): Sync | undefined {
  const fields = csv.trim().split(',')
  if (fields.length < FIELDS) return undefined
  const [id = '', name = '', stratum = '', , behind = ''] = fields
  const followed = fields.at(-1) !== 'Not synchronised' && id !== OWN_CLOCK && id !== '00000000'
  const seconds = Number(behind)
  return {
    state: followed ? 'synchronised' : 'not_synchronised',
    // chrony counts how far the clock is behind.
    offsetUs: followed && Number.isFinite(seconds) ? Math.round(-seconds * 1e6) : undefined,
    stratum: followed ? wholeOf(stratum) : undefined,
    source: followed ? name.slice(0, 128) : '',
  }
}

/** A whole number of text, undefined when it is none. */
export const wholeOf = (text: string | undefined): number | undefined =>
  text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : undefined
