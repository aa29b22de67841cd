import { agentLayout } from '../records/layout.ts'
import type { StartedBy } from './install-record.ts'

/** What the supervisor files are made from. */
export interface ServiceCommand {
  /** Absolute; the link, so that an upgrade only swaps the link. */
  executable: string
  stateDir: string
  socket: string
}

const argsOf = ({ stateDir, socket }: ServiceCommand): string[] => ['--state-dir', stateDir, '--socket', socket]

/** Quoted for systemd's ExecStart: `%` is a specifier and `$` a variable there. */
const unitWord = (text: string): string =>
  `"${text.replace(/["\\]/g, '\\$&').replaceAll('%', '%%').replaceAll('$', '$$$$')}"`
/** A word for a shell. */
export const shellWord = (text: string): string =>
  /^[\w./+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`

/** VMs are children of the agent and must outlive it: only the agent itself is ever killed or counted as failed. */
export function systemdUnit(command: ServiceCommand, kind: 'system' | 'user'): string {
  const exec = [command.executable, 'serve', ...argsOf(command)].map(unitWord).join(' ')
  return `[Unit]
Description=Eitri agent
${kind === 'system' ? 'After=network.target local-fs.target\n' : ''}StartLimitIntervalSec=0

[Service]
ExecStart=${exec}
Restart=always
RestartSec=2
KillMode=process
OOMPolicy=continue
TasksMax=infinity
LimitNOFILE=65536
UMask=0077
NoNewPrivileges=yes
LockPersonality=yes

[Install]
WantedBy=${kind === 'system' ? 'multi-user.target' : 'default.target'}
`
}

/** supervise-daemon signals only the daemon itself, so that VMs outlive it. */
export function openrcScript(command: ServiceCommand): string {
  const log = shellWord(agentLayout(command.stateDir).log)
  return `#!/sbin/openrc-run
name="Eitri agent"
supervisor=supervise-daemon
command=${shellWord(command.executable)}
command_args=${shellWord(['serve', ...argsOf(command)].map(shellWord).join(' '))}
output_log=${log}
error_log=${log}
respawn_delay=2
respawn_max=0

depend() {
  need localmount
  after net
}
`
}

const CRON_MARK = '# eitri-agent'

/** The crontab with exactly one line for this agent; `command` undefined takes it out. */
export function crontabWith(crontab: string, command: ServiceCommand | undefined): string {
  const lines = crontab.split('\n').filter((line) => line !== '' && !line.endsWith(CRON_MARK))
  if (command) {
    const words = [command.executable, 'start', ...argsOf(command)].map((word) =>
      shellWord(word).replaceAll('%', '\\%'),
    )
    lines.push(`@reboot ${words.join(' ')} ${CRON_MARK}`)
  }
  return lines.length === 0 ? '' : `${lines.join('\n')}\n`
}

/** What a host offers for starting things again after a reboot. */
export interface SupervisorOffer {
  root: boolean
  init: 'systemd' | 'openrc' | 'none'
  /** A systemd user manager answers for this login. */
  userManager: boolean
  /** crontab is installed and a cron daemon runs. */
  cron: boolean
}

/** Ways to be started again, best first; the last always works and starts nothing. */
export function supervisorChoices({ root, init, userManager, cron }: SupervisorOffer): StartedBy[] {
  const choices: StartedBy[] = []
  if (root && init === 'systemd') choices.push('systemd')
  if (root && init === 'openrc') choices.push('openrc')
  if (!root && userManager) choices.push('systemd-user')
  if (cron) choices.push('cron')
  return [...choices, 'app']
}
