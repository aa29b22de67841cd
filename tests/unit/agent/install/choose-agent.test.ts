import { describe, expect, it } from 'vitest'
import { chooseAgent, type SeenAgents, servedPlace } from '../../../../src/agent/install/choose-agent.ts'
import { agentPlaces, appPlace } from '../../../../src/agent/install/places.ts'
import { asFault } from '../../../../src/ipc/faults.ts'
import { controlPaths } from '../../../../src/main/control/node-ports.ts'

const usual = { stateDir: '/var/lib/eitri', socket: '/run/eitri/agent.sock' }
const app = { stateDir: '/root/.local/share/eitri/agent', socket: '/run/user/0/eitri/1-agent.sock' }
const other = { stateDir: '/srv/eitri', socket: '/srv/eitri/run/agent.sock', pid: 9 }
const root = { uid: 0, name: 'root', home: '/root' }
const choose = (seen: Partial<SeenAgents>, named: { stateDir?: string; socket?: string } = {}) =>
  chooseAgent(named, { known: [absent(usual), absent(app)], running: [], ...seen }, (stateDir) =>
    agentPlaces(root, { stateDir }),
  )
const absent = (place: typeof usual) => ({ ...place, there: false })
const there = (place: typeof usual) => ({ ...place, there: true })

describe('the agent that is meant where none was named', () => {
  it('is the one that runs, wherever it lives', () => {
    expect(choose({ running: [{ ...app, pid: 7 }] })).toEqual({ ...app, others: [], looked: [] })
    expect(choose({ known: [there(usual), absent(app)], running: [other] })).toMatchObject({ stateDir: '/srv/eitri' })
  })

  it('is the one whose state is there when none runs', () => {
    expect(choose({ known: [absent(usual), there(app)] })).toEqual({ ...app, others: [], looked: [] })
  })

  it('is the usual one when there is none, with the places that were looked at', () => {
    expect(choose({})).toMatchObject({ ...usual, looked: [usual, app] })
  })

  it('is asked for when there are several, each named with what chooses it', () => {
    const said = (seen: Partial<SeenAgents>) => {
      try {
        return choose(seen)
      } catch (error) {
        return asFault(error)
      }
    }
    expect(said({ running: [{ ...app, pid: 7 }, other] })).toMatchObject({
      code: 'agent/several',
      params: {
        agents:
          '--state-dir /root/.local/share/eitri/agent --socket /run/user/0/eitri/1-agent.sock (pid 7); ' +
          '--state-dir /srv/eitri --socket /srv/eitri/run/agent.sock (pid 9)',
      },
    })
    expect(said({ known: [there(usual), there(app)] })).toMatchObject({
      params: { agents: expect.stringContaining('--socket /run/eitri/agent.sock (not running); ') },
    })
  })
})

describe('an agent that was named', () => {
  it('by its state directory is met on the socket it listens on, and the others are known', () => {
    const running = [{ ...app, pid: 7 }, other]
    expect(choose({ running }, { stateDir: app.stateDir })).toEqual({ ...app, others: [other], looked: [] })
    expect(choose({ running }, { stateDir: '/new' })).toMatchObject({ socket: '/new/run/agent.sock', others: running })
  })

  it('by its socket has the state directory it runs on', () => {
    expect(choose({ running: [other] }, { socket: other.socket })).toMatchObject({ stateDir: other.stateDir })
    expect(choose({}, { socket: '/none.sock' })).toMatchObject({ stateDir: usual.stateDir, socket: '/none.sock' })
  })
})

describe('a process', () => {
  const flags = ['--state-dir', '/srv/eitri', '--socket', '/srv/a.sock']
  it.each([
    [['/usr/local/bin/eitri-agent', 'serve', ...flags]],
    [['/usr/bin/node', '/x/agent.cjs', 'serve', '--socket=/srv/a.sock', '--state-dir=/srv/eitri', '']],
  ])('that serves is known by its arguments: %j', (argv) => {
    expect(servedPlace(argv)).toEqual({ stateDir: '/srv/eitri', socket: '/srv/a.sock' })
  })

  it.each([
    [['eitri-agent', 'start', ...flags]],
    [['eitri', 'serve', '--data-dir', '/x']],
    [['sh', '-c', `eitri-agent serve ${flags.join(' ')}`]],
    [['eitri-agent', 'serve', '--state-dir', 'here', '--socket', 'a.sock']],
    [['']],
  ])('of another kind is not: %j', (argv) => expect(servedPlace(argv)).toBeUndefined())
})

describe("the app's own agent", () => {
  it.each([{}, { XDG_RUNTIME_DIR: '/run/user/0' }, { XDG_DATA_HOME: '/srv/data', XDG_RUNTIME_DIR: '/run/user/0' }])(
    'is looked for where the app puts it: %j',
    (env) => {
      const { localAgentState, localAgentSocket } = controlPaths({ env: { HOME: '/nobody', ...env } })
      const place = { stateDir: localAgentState, socket: localAgentSocket }
      expect(appPlace({ ...root, home: '/nobody' }, env)).toEqual(place)
    },
  )
})
