import { join } from 'node:path'
import type { TwoStepPoint } from '../os/failpoints.ts'
import { ensureDir, readIfPresent, removeTree, writeDurable } from '../os/files.ts'
import { type HostAccess, mustRun, succeeds } from './host-access.ts'
import type { StartedBy } from './install-record.ts'
import { CRONTAB_DRAFT } from './leftovers.ts'
import { crontabWith, openrcScript, type ServiceCommand, systemdUnit } from './supervisor.ts'

/** One way of being started again. Every method may be repeated. */
export interface Service {
  /** Sets it up for the next boot; starts nothing. Raises when this host does not let us. */
  enable(command: ServiceCommand): Promise<void>
  /** Starts the current executable, ending an older agent; undefined = nothing supervises, it is started detached. */
  restart?(): Promise<void>
  stop?(): Promise<void>
  /** Ends the agent itself at once, whatever it does; undefined = nothing supervises. */
  kill?(): Promise<void>
  /** Takes it out; names what was removed. */
  disable(): Promise<string[]>
}

const UNIT = 'eitri-agent.service'

/** Touches nothing by itself. 'app' has no restart: nothing supervises there. */
export function service(kind: StartedBy, host: HostAccess): Service {
  switch (kind) {
    case 'systemd':
      return systemd(host, join(host.prefix, '/etc/systemd/system', UNIT), [])
    case 'systemd-user':
      return userSystemd(host)
    case 'openrc':
      return openrc(host)
    case 'cron':
      return cron(host)
    case 'app':
      return { enable: async () => {}, disable: async () => [] }
  }
}

function systemd(host: HostAccess, unit: string, scope: string[]): Service & { restart(): Promise<void> } {
  const ctl = (point: TwoStepPoint, ...args: string[]) => mustRun(point, host, 'systemctl', [...scope, ...args])
  return {
    async enable(command) {
      await ensureDir('unit.dir', join(unit, '..'), 0o755)
      await writeDurable('unit.write', unit, systemdUnit(command, scope.length === 0 ? 'system' : 'user'), 0o644)
      await ctl('systemd.reload', 'daemon-reload')
      await ctl('systemd.enable', 'enable', UNIT)
    },
    restart: async () => void (await ctl('systemd.restart', 'restart', UNIT)),
    stop: async () => void (await ctl('systemd.stop', 'stop', UNIT)),
    kill: async () => void (await ctl('systemd.kill', 'kill', '--kill-who=main', '--signal=SIGKILL', UNIT)),
    async disable() {
      if (!(await readIfPresent(unit))) return []
      await ctl('systemd.disable', 'disable', '--now', UNIT).catch(() => {})
      await removeTree('unit.remove', unit)
      await ctl('systemd.forget', 'daemon-reload').catch(() => {})
      return [unit]
    },
  }
}

/** The user manager must outlive the login, or it takes the agent with it: no linger, no service. */
function userSystemd(host: HostAccess): Service {
  const base = systemd(host, join(host.login.home, '.config/systemd/user', UNIT), ['--user'])
  const lingers = async () =>
    (
      await mustRun('linger.ask', host, 'loginctl', [
        'show-user',
        host.login.name,
        '--property=Linger',
        '--value',
      ]).catch(() => '')
    ).trim() === 'yes'
  return {
    ...base,
    async enable(command) {
      if (!(await lingers())) await mustRun('linger.enable', host, 'loginctl', ['enable-linger', host.login.name])
      if (!(await lingers())) throw new Error('loginctl enable-linger had no effect')
      await base.enable(command)
    },
  }
}

function openrc(host: HostAccess): Service {
  const script = join(host.prefix, '/etc/init.d/eitri-agent')
  return {
    async enable(command) {
      await writeDurable('openrc.write', script, openrcScript(command), 0o755)
      await mustRun('openrc.add', host, 'rc-update', ['add', 'eitri-agent', 'default'])
    },
    restart: async () => void (await mustRun('openrc.restart', host, 'rc-service', ['eitri-agent', 'restart'])),
    stop: async () => void (await mustRun('openrc.stop', host, 'rc-service', ['--ifstarted', 'eitri-agent', 'stop'])),
    async disable() {
      if (!(await readIfPresent(script))) return []
      await succeeds('openrc.end', host, 'rc-service', ['--ifstarted', 'eitri-agent', 'stop'])
      await succeeds('openrc.delete', host, 'rc-update', ['del', 'eitri-agent'])
      await removeTree('openrc.remove', script)
      return [script]
    },
  }
}

function cron(host: HostAccess): Service {
  const edit = async (command: ServiceCommand | undefined): Promise<boolean> => {
    const before = await mustRun('cron.list', host, 'crontab', ['-l']).catch(() => '')
    const after = crontabWith(before, command)
    if (after === before) return false
    const file = join(host.login.home, CRONTAB_DRAFT)
    try {
      await writeDurable('cron.write', file, after)
      await mustRun('cron.load', host, 'crontab', [file])
    } finally {
      await removeTree('cron.clean', file)
    }
    return true
  }
  return {
    enable: async (command) => void (await edit(command)),
    disable: async () => ((await edit(undefined)) ? [`crontab line of ${host.login.name}`] : []),
  }
}

/** A user manager answers, reachable although an SSH login may lack the variable that names it. */
export async function hasUserManager(host: HostAccess): Promise<boolean> {
  if (host.init !== 'systemd') return false
  process.env['XDG_RUNTIME_DIR'] ??= `/run/user/${host.login.uid}`
  return await succeeds('user-manager.ask', host, 'systemctl', ['--user', 'show-environment'])
}
