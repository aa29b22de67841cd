import {
  breaksAt,
  type ClockWord,
  type GuestClockFacts,
  guestClockState,
  type HostClockFacts,
  hostClockState,
  offsetFrom,
  offsetWords,
} from './clock-words.ts'

/** A host that answers now. */
export interface HostWithClock {
  name: string
  clock?: HostClockFacts | undefined
}

/** A guest that runs on a host that answers now. */
export interface GuestWithClock {
  id: string
  name: string
  clock?: GuestClockFacts | undefined
}

/** The one thing to know of all clocks together, and the next move. */
export interface ClockHeadline {
  tone: 'good' | 'warn' | 'bad' | 'unknown'
  text: string
  next: string
  /** The guest that setting would mend; absent = none would. */
  guestId?: string
}

/** What the headline takes from guests; whoever has thousands of them counts as they change. */
export interface GuestTally {
  /** Those that drift or jumped. */
  off: readonly GuestWithClock[]
  silent: number
  all: number
}

function tallyOf(guests: readonly GuestWithClock[]): GuestTally {
  const words = guests.map(({ clock }) => guestClockState(clock).word)
  return {
    off: guests.filter((_, i) => isOff(words[i])),
    silent: words.filter((word) => word === 'Not reported').length,
    all: guests.length,
  }
}

/** Whether a guest with such a word needs its clock set. */
export const isOff = (word: ClockWord | undefined): boolean => word === 'Drifting' || word === 'Jumped'

/** The wrong clock is named first: what hangs on it cannot be right before it is. */
export const clockHeadline = (hosts: readonly HostWithClock[], guests: readonly GuestWithClock[]): ClockHeadline =>
  clockHeadlineOf(hosts, tallyOf(guests))

/** The same from guests that are counted already. */
export function clockHeadlineOf(hosts: readonly HostWithClock[], guests: GuestTally): ClockHeadline {
  return (
    appWrong(hosts) ??
    hostWrong(hosts) ??
    undecided(hosts) ??
    guestOff(guests.off) ??
    unkept(hosts) ??
    calm(hosts, guests)
  )
}

const judged = (hosts: readonly HostWithClock[], wrong: string) =>
  hosts.flatMap(({ name, clock }) =>
    clock?.wrong === wrong && clock.appOffsetUs !== undefined
      ? [{ name, state: clock.state, us: clock.appOffsetUs }]
      : [],
  )

function appWrong(hosts: readonly HostWithClock[]): ClockHeadline | undefined {
  const against = judged(hosts, 'app')
  const [first] = against.filter(({ state }) => state === 'synchronised').concat(against)
  if (!first) return undefined
  const who = names(against.map(({ name }) => name))
  const agree = against.length === 1 ? `${who}, which is synchronised, says so` : `${who} agree against it`
  return {
    tone: 'bad',
    text: `This computer's clock is the wrong one, ${offsetWords(-first.us)}: ${agree}.`,
    next: 'Turn on network time on this computer. Until then certificates are judged, and times shown, by a wrong clock.',
  }
}

function hostWrong(hosts: readonly HostWithClock[]): ClockHeadline | undefined {
  const [first, ...more] = judged(hosts, 'host')
  if (!first) return undefined
  const also = more.length === 0 ? '' : ` So is that of ${names(more.map(({ name }) => name))}.`
  const kept = first.state === 'synchronised' ? 'although it says it is synchronised' : 'and nothing keeps it'
  return {
    tone: 'bad',
    text: `The clock of ${first.name} is the wrong one, ${offsetWords(first.us)}, ${kept}.${also}`,
    next: 'Set it by network time there (chrony); its guests follow it.',
  }
}

function undecided(hosts: readonly HostWithClock[]): ClockHeadline | undefined {
  const [first] = judged(hosts, 'unknown')
  if (!first) return undefined
  return {
    tone: 'warn',
    text: `${first.name} is ${offsetFrom(first.us, 'this computer')}, and nothing tells which of the two is right.`,
    next: 'Keep both by network time; a host that says it is synchronised settles it.',
  }
}

function guestOff(guests: readonly GuestWithClock[]): ClockHeadline | undefined {
  const off = guests
    .map((guest) => ({ guest, state: guestClockState(guest.clock) }))
    .sort((a, b) => b.state.offMs - a.state.offMs)
  const [worst] = off
  if (!worst) return undefined
  const { state, guest } = worst
  const { name, id, clock } = guest
  const more =
    off.length === 1 ? '' : `, and ${off.length - 1} more ${off.length === 2 ? 'guest is' : 'guests are'} off`
  const seen = state.offMs > 0 && clock?.offsetUs
  const where = seen ? `is ${offsetFrom(seen, 'its host')}` : 'stood still, and its clock was not seen right since'
  const broken = breaksAt(state.offMs).at(-1)
  return {
    tone: state.word === 'Jumped' ? 'bad' : 'warn',
    text: `${name} ${where}${more}.${broken ? ` This breaks ${broken}.` : ''}`,
    next: 'Setting its clock again asks the host to do it now.',
    guestId: id,
  }
}

function unkept(hosts: readonly HostWithClock[]): ClockHeadline | undefined {
  const loose = hosts.filter(({ clock }) => hostClockState(clock).word === 'Not synchronised').map(({ name }) => name)
  if (loose.length === 0) return undefined
  return {
    tone: 'warn',
    text: `Nothing keeps the clock of ${names(loose)}.`,
    next: 'Start chrony or another network time daemon there: guests inherit the error of their host.',
  }
}

function calm(hosts: readonly HostWithClock[], { silent, all }: GuestTally): ClockHeadline {
  const hostTold = hosts.some(({ clock }) => hostClockState(clock).word !== 'Not reported')
  if (silent === all && !hostTold)
    return {
      tone: 'unknown',
      text: 'No clock is reported.',
      next: 'A host needs a time service such as chrony to report its clock, a running guest needs the guest agent.',
    }
  const next =
    silent === 0
      ? ''
      : `${silent === 1 ? '1 guest does' : `${silent} guests do`} not report: that needs the guest agent in it.`
  return { tone: 'good', text: 'Every clock that is reported is in step.', next }
}

const SHOWN = 3

function names(all: readonly string[]): string {
  const shown = all.slice(0, SHOWN)
  const rest = all.length - shown.length
  if (rest > 0) return `${shown.join(', ')} and ${rest} more`
  return shown.length < 2 ? shown.join('') : `${shown.slice(0, -1).join(', ')} and ${shown.at(-1)}`
}
