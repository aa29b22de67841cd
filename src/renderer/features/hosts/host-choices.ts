/** One line under the field for a host. */
export interface HostChoice {
  text: string
  /** Beside it; empty = nothing. */
  note: string
  isLocal: boolean
  /** It can be taken. */
  isPossible: boolean
}

/** What is known of this computer as a host. */
export interface LocalChoice {
  possible: boolean
  /** Why it cannot be one. */
  detail: string
  /** It is one already. */
  added: boolean
}

const THIS_COMPUTER = 'This computer'
const MOST_SHOWN = 50

/** The names of the ssh configuration, then this computer, as far as they have what is typed. Undefined = not asked yet. Pure.
 * Once added, this computer shows only when it is typed: a list of nothing to take would cover the fields below. */
export function hostChoices(names: readonly string[], local: LocalChoice | undefined, typed: string): HostChoice[] {
  const needle = typed.trim().toLowerCase()
  const has = (text: string) => text.toLowerCase().includes(needle)
  const last =
    local && has(THIS_COMPUTER) && !(local.added && needle === '')
      ? [{ text: THIS_COMPUTER, note: localNote(local), isLocal: true, isPossible: local.possible && !local.added }]
      : []
  const others = names
    .filter(has)
    .slice(0, MOST_SHOWN)
    .map((text) => ({ text, note: '', isLocal: false, isPossible: true }))
  return [...others, ...last]
}

function localNote({ possible, detail, added }: LocalChoice): string {
  if (added) return 'in the fleet already'
  return possible ? 'an agent starts here, as you; no SSH is needed' : detail
}
