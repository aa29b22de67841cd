import { formatMoment } from '../../lib/format.ts'
import { graceWords } from '../settings/periods.ts'

export interface DeleteWords {
  /** What it does, a sentence or two. */
  meaning: string
  /** How long it can be brought back; empty = not known here. */
  kept: string
  button: string
}

/** What deleting means with so many seconds of quarantine; undefined = they are not known yet. Pure. */
export function deleteWords(graceS: number | undefined, nowMs: number): DeleteWords {
  if (graceS === 0)
    return {
      meaning:
        'It is stopped and destroyed at once, with its disk: this fleet keeps deleted VMs for no time. Nothing brings it back.',
      kept: 'not at all',
      button: 'Destroy it',
    }
  const until = graceS === undefined ? '' : formatMoment(new Date(nowMs + graceS * 1000), new Date(nowMs))
  return {
    meaning: 'It is stopped and moved to quarantine. Undo brings it back with its disk, until the countdown ends.',
    kept: graceS === undefined ? '' : `for ${graceWords(graceS)}, until ${until}`,
    button: 'Move to quarantine',
  }
}
