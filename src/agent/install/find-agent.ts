import { access, constants, readdir, readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { type AgentPlace, type ChosenAgent, chooseAgent, type SeenAgents, servedPlace } from './choose-agent.ts'
import { agentPlaces, appPlace, currentLogin } from './places.ts'

/** The agent that a command which only looks is about. Raises `agent/several`. */
export async function findAgent(named: { stateDir?: string; socket?: string }): Promise<ChosenAgent> {
  const login = currentLogin()
  const { stateDir, socket } = named
  return chooseAgent(
    {
      stateDir: stateDir === undefined ? undefined : resolve(stateDir),
      socket: socket === undefined ? undefined : resolve(socket),
    },
    await seenAgents(),
    (dir) => agentPlaces(login, { stateDir: dir }),
  )
}

async function seenAgents(): Promise<SeenAgents> {
  const login = currentLogin()
  const places: AgentPlace[] = [
    agentPlaces(login),
    ...(login.uid === 0 ? [agentPlaces(login, { asUser: true })] : [agentPlaces({ ...login, uid: 0 })]),
    appPlace(login, process.env),
  ]
  const known = places.map(async ({ stateDir, socket }) => ({
    stateDir,
    socket,
    there: await may(join(stateDir, 'identity.json'), constants.R_OK),
  }))
  return { known: await Promise.all(known), running: await runningAgents() }
}

/** None where there is no /proc. */
async function runningAgents(): Promise<(AgentPlace & { pid: number })[]> {
  const byDir = new Map<string, AgentPlace & { pid: number }>()
  for (const name of await readdir('/proc').catch(() => [])) {
    if (!/^\d+$/.test(name)) continue
    const argv = (await readFile(`/proc/${name}/cmdline`, 'utf8').catch(() => '')).split('\0')
    const place = servedPlace(argv)
    if (place && !byDir.has(place.stateDir) && (await maySteer(place)))
      byDir.set(place.stateDir, { ...place, pid: Number(name) })
  }
  return [...byDir.values()]
}

const maySteer = async ({ stateDir, socket }: AgentPlace): Promise<boolean> =>
  (await may(socket, constants.R_OK | constants.W_OK)) || (await may(stateDir, constants.W_OK | constants.X_OK))

const may = (path: string, mode: number): Promise<boolean> =>
  access(path, mode).then(
    () => true,
    () => false,
  )
