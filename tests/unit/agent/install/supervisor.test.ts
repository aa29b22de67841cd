import { execFileSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { crontabWith, openrcScript, supervisorChoices, systemdUnit } from '../../../../src/agent/install/supervisor.ts'

const command = {
  executable: '/usr/local/bin/eitri-agent',
  stateDir: '/var/lib/eitri',
  socket: '/run/eitri/agent.sock',
}
const odd = { executable: '/home/o\'b 100%/a$b"c', stateDir: '/s t', socket: '/s t/x.sock' }

describe('what starts an agent again after a reboot', () => {
  it.each([
    ['root under systemd', { root: true, init: 'systemd', userManager: false, cron: true }, ['systemd', 'cron', 'app']],
    ['root under OpenRC', { root: true, init: 'openrc', userManager: false, cron: false }, ['openrc', 'app']],
    [
      'a login with a user manager',
      { root: false, init: 'systemd', userManager: true, cron: true },
      ['systemd-user', 'cron', 'app'],
    ],
    ['a login without one', { root: false, init: 'systemd', userManager: false, cron: true }, ['cron', 'app']],
    ['a login of OpenRC without cron', { root: false, init: 'openrc', userManager: false, cron: false }, ['app']],
  ] as const)('%s', (_, offer, choices) => {
    expect(supervisorChoices(offer)).toEqual(choices)
  })

  it('a unit lets VMs outlive the agent and quotes what systemd would expand', () => {
    const unit = systemdUnit(command, 'system')
    expect(unit).toContain('KillMode=process\n')
    expect(unit).toContain('OOMPolicy=continue\n')
    expect(unit).toContain(
      'ExecStart="/usr/local/bin/eitri-agent" "serve" "--state-dir" "/var/lib/eitri" "--socket" "/run/eitri/agent.sock"\n',
    )
    expect(systemdUnit(odd, 'user')).toContain('ExecStart="/home/o\'b 100%%/a$$b\\"c" "serve"')
    expect(systemdUnit(command, 'user')).toContain('WantedBy=default.target')
  })

  it('an OpenRC script is shell that a shell can read', () => {
    execFileSync('sh', ['-n'], { input: openrcScript(odd) })
    expect(openrcScript(command)).toContain('supervisor=supervise-daemon\n')
  })

  it('a crontab keeps every line that is not ours and never has two of ours', () => {
    const before = '# mine\n0 3 * * * backup\n'
    const once = crontabWith(before, command)
    expect(once).toBe(
      `${before}@reboot /usr/local/bin/eitri-agent start --state-dir /var/lib/eitri --socket /run/eitri/agent.sock # eitri-agent\n`,
    )
    expect(crontabWith(once, command)).toBe(once)
    expect(crontabWith(once, undefined)).toBe(before)
    expect(crontabWith('', undefined)).toBe('')
    expect(crontabWith('', odd)).toContain('100\\%')
  })
})
