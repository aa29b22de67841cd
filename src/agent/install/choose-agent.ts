import { Fault } from '../../ipc/faults.ts'

/** What steers one agent; both absolute. */
export interface AgentPlace {
  stateDir: string
  socket: string
}

export interface SeenAgents {
  /** Where agents live by themselves, the usual place of this login first. */
  known: readonly (AgentPlace & { there: boolean })[]
  /** `serve` processes of this machine that this login may steer, another one of the same state directory left out. */
  running: readonly (AgentPlace & { pid: number })[]
}

export interface ChosenAgent extends AgentPlace {
  /** Agents that run elsewhere on this machine. */
  others: SeenAgents['running']
  /** Where was looked in vain; empty = an agent, or its state, is there or was named. */
  looked: readonly AgentPlace[]
}

/**
 * The agent that is meant: the one whose state directory or socket was named, else the only one that runs, else the
 * only one whose state is there. Pure. Raises `agent/several` naming them all.
 */
export function chooseAgent(
  named: { stateDir?: string | undefined; socket?: string | undefined },
  { known, running }: SeenAgents,
  placeOf: (stateDir: string) => AgentPlace,
): ChosenAgent {
  const chosen = (place: AgentPlace, looked: readonly AgentPlace[] = []): ChosenAgent => ({
    stateDir: place.stateDir,
    socket: place.socket,
    others: running.filter(({ stateDir }) => stateDir !== place.stateDir),
    looked,
  })
  const { stateDir, socket } = named
  const all = [...running, ...known]
  if (stateDir !== undefined) {
    const place = all.find((one) => one.stateDir === stateDir) ?? placeOf(stateDir)
    return chosen({ stateDir, socket: socket ?? place.socket })
  }
  const usual = known[0]!
  if (socket !== undefined) return chosen({ ...(all.find((one) => one.socket === socket) ?? usual), socket })
  const [one, ...more] = running.length > 0 ? running : known.filter(({ there }) => there)
  if (one && more.length > 0) throw new Fault('agent/several', 'permanent', { agents: list([one, ...more]) })
  return one ? chosen(one) : chosen(usual, known)
}

/** A sentence names at most so many agents. */
const MAX_NAMED = 10

const list = (places: readonly (AgentPlace & { pid?: number })[]): string =>
  [
    ...places.slice(0, MAX_NAMED).map(words),
    ...(places.length > MAX_NAMED ? [`${places.length - MAX_NAMED} more`] : []),
  ].join('; ')

const words = (place: AgentPlace & { pid?: number }): string =>
  `--state-dir ${place.stateDir} --socket ${place.socket}${place.pid === undefined ? ' (not running)' : ` (pid ${place.pid})`}`

/** The place a process serves; undefined when its arguments are not those of an agent. */
export function servedPlace(argv: readonly string[]): AgentPlace | undefined {
  const at = argv.indexOf('serve')
  const flag = (name: string) => {
    const found = argv.findIndex((word, i) => i > at && (word === name || word.startsWith(`${name}=`)))
    return argv[found]?.startsWith(`${name}=`) ? argv[found].slice(name.length + 1) : argv[found + 1]
  }
  if (at < 1 || !argv.some((word) => word.startsWith('--state-dir'))) return undefined
  const [stateDir, socket] = [flag('--state-dir'), flag('--socket')]
  return stateDir?.startsWith('/') && socket?.startsWith('/') ? { stateDir, socket } : undefined
}
