import { DEFAULT_LOGIN } from '../../ipc/names.ts'

/** How `ssh` gets to guests from this computer. */
export interface SshWay {
  /** This program, as a command and its first arguments. */
  self: readonly string[]
  /** Absent = the person's own. */
  dataDir?: string | undefined
  /** Where the control plane has the sockets of logins. */
  logins: string
}

/** A login to one guest; `%r` and `%h` leave it to ssh. */
export interface SshLogin {
  login: string
  host: string
  port: string
}

/**
 * What makes `ssh` log in by certificate, through the host of the VM, and take no other machine for the guest. The agent
 * and the known hosts are there once the ProxyCommand runs: ssh looks at neither before the guest has greeted it.
 */
export function sshOptions(way: SshWay, { login, host, port }: SshLogin): [name: string, value: string][] {
  const at = (suffix: string) => quoted(`${escaped(way.logins)}/${login}@${host}${suffix}`)
  const from = way.dataDir === undefined ? [] : ['--data-dir', way.dataDir]
  const command = [...way.self, ...from, 'connect'].map((word) => shellQuoted(escaped(word)))
  return [
    ['ProxyCommand', [...command, '--login', `'${login}'`, '--', `'${host}'`, `'${port}'`].join(' ')],
    ['IdentityAgent', at('')],
    ['IdentitiesOnly', 'no'],
    ['PreferredAuthentications', 'publickey'],
    ['PasswordAuthentication', 'no'],
    ['KbdInteractiveAuthentication', 'no'],
    ['UserKnownHostsFile', at('.known')],
    ['GlobalKnownHostsFile', '/dev/null'],
    ['StrictHostKeyChecking', 'yes'],
    ['UpdateHostKeys', 'no'],
    ['ServerAliveInterval', '60'],
  ]
}

/** The part of an ssh configuration by which `ssh web.eitri` works. */
export function sshConfigText(way: SshWay): string {
  const options = sshOptions(way, { login: '%r', host: '%h', port: '%p' })
  return [
    '# Written by "eitri ssh-config --write"; taken away by "eitri ssh-config --remove".',
    '# NAME.eitri is a VM, NAME.TENANT.eitri one of another tenant. Names with quotes in them never get to a shell.',
    `Match originalhost "*.eitri,!*'*,!*\\\\*" !user "*'*,*\\\\*"`,
    `  User ${DEFAULT_LOGIN}`,
    ...options.map(([name, value]) => `  ${name} ${value}`),
    '',
  ].join('\n')
}

/** Tokens of ssh begin with %. */
const escaped = (text: string): string => text.replaceAll('%', '%%')
const quoted = (text: string): string => `"${text}"`
const shellQuoted = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
