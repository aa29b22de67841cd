import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { Fault } from '../../src/ipc/faults.ts'
import type { Hello } from '../../src/ipc/gen/eitri/agent/v1/sync_pb.js'
import { attachOnce } from '../../src/main/control/hosts/attach-once.ts'
import { signInTo } from '../../src/main/control/hosts/dial-host.ts'
import type { SshWay } from '../../src/main/control/hosts/enrol.ts'
import { addHost } from '../../src/main/control/hosts/onboarding.ts'
import { openAgent } from '../../src/main/control/hosts/ssh-connector.ts'
import { enterSshHost } from '../../src/main/control/hosts/ssh-entrance.ts'
import type { HostRow } from '../../src/main/control/store/host-row.ts'
import type { Answer, Question } from '../../src/main/control/tasks/task-context.ts'
import { aFleet, aTask } from './adding-hosts.ts'
import { forever, systemClock } from './ssh-login.ts'

/** Says yes to host keys, and nothing else. */
export const trusting = (question: Question): Answer =>
  question.kind === 'host_key' ? { fingerprint: question.fingerprint } : {}

const cancelled = new Fault('app/cancelled', 'cancelled')

/** A person with an SSH configuration, known hosts and a fleet of their own. `close` leaves nothing. */
export function aDesk(env: Record<string, string | undefined> = { PATH: process.env['PATH'] }) {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'eitri-d-'))
  const sshDir = path.join(dir, 'ssh')
  fs.mkdirSync(sshDir, { mode: 0o700 })
  const fleet = aFleet(dir, 'home', env)
  const write = (name: string, text: string, mode = 0o600) => {
    const file = path.join(sshDir, name)
    fs.writeFileSync(file, text, { mode })
    return file
  }
  const task = (answer = trusting) => aTask(answer)
  return {
    dir,
    sshDir,
    fleet,
    write,
    /** Adds the host as the app does; its row. */
    async add(way: SshWay & { name?: string }, answer = trusting) {
      const { task: run, seen } = task(answer)
      const input = {
        tenant: 'default',
        name: way.name ?? 'rack1',
        way: { kind: 'ssh' as const, takeOver: true, ...way },
      }
      const { resultId } = await addHost(fleet.deps, input, run)
      return { row: fleet.stores.hosts.get(resultId), link: fleet.links.at(-1)!, ...seen }
    },
    /** As far as the signed-in connection; the caller closes it. */
    async enter(way: SshWay, answer = trusting) {
      const { task: run, seen } = task(answer)
      const entrance = await enterSshHost(fleet.ssh, { tenant: 'default', way }, run)
      return { ...entrance, ...seen }
    },
    /** Dials the row again, as the app does after a loss; what its agent says. */
    async again(row: HostRow): Promise<Hello> {
      const connection = await signInTo(fleet.ssh, row, forever)
      const options = { host: row.name, clock: systemClock, signal: forever, mayStart: true }
      const link = await openAgent(connection, row.agent, options)
      try {
        const { hello } = await attachOnce(link, row.name, fleet.deps.attachAs, { takeOver: true, signal: forever })
        return hello
      } finally {
        link.close(cancelled)
        await connection.closed
      }
    },
    /** Folders of connections of the system's ssh that are there now. */
    folders: () => fs.readdirSync(dir).filter((name) => name.startsWith('s-')),
    close() {
      fleet.close()
      fs.rmSync(dir, { recursive: true, force: true })
    },
  }
}

export type Desk = ReturnType<typeof aDesk>
