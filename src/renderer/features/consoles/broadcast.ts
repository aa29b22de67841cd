import { create } from 'zustand'

/** What can be typed into. */
export interface Receiver {
  input(text: string, by: 'person'): boolean
  readonly state: { link: string; keyboard: boolean }
  subscribe(listener: () => void): () => void
}

interface Broadcast {
  on: boolean
  /** Panes shown now, by id. */
  panes: ReadonlyMap<string, Receiver>
  /** What people call each of them. */
  names: ReadonlyMap<string, string>
}

/** Typing into all panes of the tab at once. Off until a person switches it on, and never kept. */
export const useBroadcast = create<Broadcast>(() => ({ on: false, panes: new Map(), names: new Map() }))

/** Esc twice within this ends it. */
const TWICE_MS = 600
let lastEscape = Number.NEGATIVE_INFINITY

export const canReceive = ({ state }: Receiver): boolean => state.link === 'live' && state.keyboard

export const setBroadcast = (on: boolean): void => useBroadcast.setState({ on })

/** Names of the panes that take what is typed now, and of those that do not. */
export function whoReceives({ panes, names }: Pick<Broadcast, 'panes' | 'names'>): { takes: string[]; left: string[] } {
  const named = (takes: boolean) =>
    [...panes].filter(([, one]) => canReceive(one) === takes).map(([pane]) => names.get(pane) ?? pane)
  return { takes: named(true), left: named(false) }
}

/** A pane is shown; answers what takes it away again. Losing or taking the keyboard is told to who shows the panes. */
export function joinBroadcast(pane: string, receiver: Receiver, name: string): () => void {
  useBroadcast.setState(({ panes, names }) => ({
    panes: new Map([...panes, [pane, receiver]]),
    names: new Map([...names, [pane, name]]),
  }))
  let could = canReceive(receiver)
  const stop = receiver.subscribe(() => {
    if (canReceive(receiver) === could) return
    could = !could
    useBroadcast.setState(({ panes }) => ({ panes: new Map(panes) }))
  })
  return () => {
    stop()
    useBroadcast.setState(({ panes, names }) => {
      if (panes.get(pane) !== receiver) return {}
      const others = <T>(all: ReadonlyMap<string, T>) => new Map([...all].filter(([id]) => id !== pane))
      return { panes: others(panes), names: others(names) }
    })
  }
}

/**
 * What a person typed into one pane, to every shown pane that takes it. False = it is of that pane alone. The second Esc
 * in a row ends it and goes nowhere.
 */
export function broadcastInput(from: Receiver, text: string, nowMs: number): boolean {
  const { on, panes } = useBroadcast.getState()
  if (!on || ![...panes.values()].includes(from)) return false
  if (text === '\x1b') {
    const twice = nowMs - lastEscape < TWICE_MS
    lastEscape = twice ? Number.NEGATIVE_INFINITY : nowMs
    if (twice) {
      setBroadcast(false)
      return true
    }
  } else lastEscape = Number.NEGATIVE_INFINITY
  for (const receiver of panes.values()) if (canReceive(receiver)) receiver.input(text, 'person')
  return true
}
