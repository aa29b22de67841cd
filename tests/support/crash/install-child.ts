import { join } from 'node:path'
import type { HostAccess } from '../../../src/agent/install/host-access.ts'
import { install } from '../../../src/agent/install/install.ts'
import { clearInstallLeftovers } from '../../../src/agent/install/leftovers.ts'
import { agentPlaces } from '../../../src/agent/install/places.ts'
import { service } from '../../../src/agent/install/service.ts'
import { uninstall } from '../../../src/agent/install/uninstall.ts'
import { armFailpoints } from '../../../src/agent/os/arm-failpoints.ts'
import { run } from '../../../src/agent/os/exec.ts'

/** What one run of this program does, on the host below `dir`. */
export interface InstallJob {
  dir: string
  uid: number
  init: HostAccess['init']
  cron: boolean
  kind: 'bundle' | 'executable'
  steer: readonly string[]
  command: 'install' | 'uninstall' | 'service'
}

armFailpoints(process.env)
const job = JSON.parse(process.argv[2] ?? '') as InstallJob
const { dir } = job
const host: HostAccess = {
  login: { uid: job.uid, name: job.uid === 0 ? 'root' : 'bob', home: join(dir, 'home') },
  init: job.init,
  prefix: dir,
  run: (point, program, args, options) => run(point, join(dir, 'bin', program), args, options),
  find: async (program) => join(dir, 'bin', program),
  cronRuns: async () => job.cron,
}
const program = { kind: job.kind, file: join(dir, 'program'), node: '/opt/node' }
if (job.command === 'install')
  await install({ host, program, version: '1.2.3', digest: 'd'.repeat(64), steerUser: job.steer })
else if (job.command === 'uninstall') await uninstall({ host, purge: true })
else {
  await clearInstallLeftovers('install.clean', host, agentPlaces(host.login, { prefix: dir }))
  const way = service(job.init === 'openrc' ? 'openrc' : 'systemd', host)
  await way.enable({ executable: '/x', stateDir: join(dir, 'state'), socket: join(dir, 'agent.sock') })
  await way.restart?.()
  await way.stop?.()
  await way.kill?.()
  await way.disable()
}
