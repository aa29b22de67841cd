import { chmod, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { ensureDir, readIfPresent, writeDurable } from '../os/files.ts'
import { type HostAccess, mustRun, succeeds } from './host-access.ts'
import type { StartedBy } from './install-record.ts'
import { crontabWith, openrcScript, type ServiceCommand, systemdUnit } from './supervisor.ts'

/** One way of being started again. Every method may be repeated. */
export interface Service {
  /** Sets it up for the next boot; starts nothing. Raises when this host does not let us. */
  enable(command: ServiceCommand): Promise<void>
  /** Starts the current executable, ending an older agent; undefined = nothing supervises, it is started detached. */
  restart?(): Promise<void>
  stop?(): Promise<void>
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
  const ctl = (...args: string[]) => mustRun(host, 'systemctl', [...scope, ...args])
  return {
    async enable(command) {
      await ensureDir(join(unit, '..'), 0o755)
      await writeDurable(unit, systemdUnit(command, scope.length === 0 ? 'system' : 'user'), 0o644)
      await ctl('daemon-reload')
      await ctl('enable', UNIT)
    },
    restart: async () => void (await ctl('restart', UNIT)),
    stop: async () => void (await ctl('stop', UNIT)),
    async disable() {
      if (!(await readIfPresent(unit))) return []
      await ctl('disable', '--now', UNIT).catch(() => {})
      await rm(unit, { force: true })
      await ctl('daemon-reload').catch(() => {})
      return [unit]
    },
  }
}

/** The user manager must outlive the login, or it takes the agent with it: no linger, no service. */
function userSystemd(host: HostAccess): Service {
  const base = systemd(host, join(host.login.home, '.config/systemd/user', UNIT), ['--user'])
  const lingers = async () =>
    (
      await mustRun(host, 'loginctl', ['show-user', host.login.name, '--property=Linger', '--value']).catch(() => '')
    ).trim() === 'yes'
  return {
    ...base,
    async enable(command) {
      if (!(await lingers())) await mustRun(host, 'loginctl', ['enable-linger', host.login.name])
      if (!(await lingers())) throw new Error('loginctl enable-linger had no effect')
      await base.enable(command)
    },
  }
}

function openrc(host: HostAccess): Service {
  const script = join(host.prefix, '/etc/init.d/eitri-agent')
  return {
    async enable(command) {
      await writeDurable(script, openrcScript(command), 0o755)
      await chmod(script, 0o755)
      await mustRun(host, 'rc-update', ['add', 'eitri-agent', 'default'])
    },
    restart: async () => void (await mustRun(host, 'rc-service', ['eitri-agent', 'restart'])),
    stop: async () => void (await mustRun(host, 'rc-service', ['--ifstarted', 'eitri-agent', 'stop'])),
    async disable() {
      if (!(await readIfPresent(script))) return []
      await succeeds(host, 'rc-service', ['--ifstarted', 'eitri-agent', 'stop'])
      await succeeds(host, 'rc-update', ['del', 'eitri-agent'])
      await rm(script, { force: true })
      return [script]
    },
  }
}

function cron(host: HostAccess): Service {
  const edit = async (command: ServiceCommand | undefined): Promise<boolean> => {
    const before = await mustRun(host, 'crontab', ['-l']).catch(() => '')
    const after = crontabWith(before, command)
    if (after === before) return false
    const file = join(host.login.home, `.eitri-crontab.${process.pid}`)
    try {
      await writeDurable(file, after)
      await mustRun(host, 'crontab', [file])
    } finally {
      await rm(file, { force: true })
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
  return await succeeds(host, 'systemctl', ['--user', 'show-environment'])
}
