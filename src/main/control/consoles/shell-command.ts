import type { TerminalSize } from '../../../ipc/console-frames.ts'
import { shellWord } from '../hosts/ssh/exec.ts'

const TERM = 'xterm-256color'

/**
 * Pure: the person's own shell as at a login, whatever shell runs this line. `size` is told to a terminal whose ssh has
 * none to take it from.
 */
export function loginShell(size?: TerminalSize): string {
  const tell = size ? `stty rows ${size.rows} cols ${size.cols} 2>/dev/null; ` : ''
  return `exec sh -c ${shellWord(`TERM=${TERM}; export TERM; ${tell}exec "\${SHELL:-/bin/sh}" -l`)}`
}

export interface GuestSsh {
  login: string
  /** As it stands in the certificate of the host key. */
  hostKeyAlias: string
  /** `web.eitri`. */
  host: string
  /** A socket that leads to the guest's sshd. */
  socket: string
  identityAgent: string
  knownHosts: string
  /** Socket over which further sessions join this connection. Absent = none do. */
  control?: string | undefined
  /** Node, to reach the socket. */
  node: string
  command: string
}

/** Joins its own input and output to a unix socket. */
const JOIN = 'const s=require("node:net").connect(process.argv[1]);process.stdin.pipe(s);s.pipe(process.stdout)'

/**
 * Pure: the system's ssh into a guest. It reads no configuration, asks nobody, trusts the one host key, signs in by the
 * certificate of one agent, and hands on every character typed.
 */
export function guestSshArguments(guest: GuestSsh): string[] {
  const join = [guest.node, '-e', JOIN, guest.socket].map((word) => shellWord(word.replaceAll('%', '%%'))).join(' ')
  const options: [string, string][] = [
    ['ProxyCommand', `env ELECTRON_RUN_AS_NODE=1 ${join}`],
    ['HostKeyAlias', guest.hostKeyAlias],
    ['IdentityAgent', `"${guest.identityAgent.replaceAll('%', '%%')}"`],
    ['UserKnownHostsFile', `"${guest.knownHosts.replaceAll('%', '%%')}"`],
    ['GlobalKnownHostsFile', '/dev/null'],
    ['StrictHostKeyChecking', 'yes'],
    ['UpdateHostKeys', 'no'],
    ['PreferredAuthentications', 'publickey'],
    ['BatchMode', 'yes'],
    ['EscapeChar', 'none'],
    ['LogLevel', 'ERROR'],
    ['ServerAliveInterval', '15'],
    ...(guest.control ? controlOptions(guest.control, 'yes') : []),
  ]
  const given = options.flatMap(([name, value]) => ['-o', `${name}=${value}`])
  return ['-F', 'none', ...given, '-tt', '-l', guest.login, '--', guest.host, guest.command]
}

const controlOptions = (path: string, master: 'yes' | 'no'): [string, string][] => [
  ['ControlMaster', master],
  ['ControlPath', `"${path.replaceAll('%', '%%')}"`],
  ['ControlPersist', 'no'],
]

/**
 * Pure: the terminal of the shell that has the same connection gets this size, and what runs on it the signal that tells.
 * It is that of a process whose parent is the sshd that started this one.
 */
export function sizeCommand({ rows, cols }: TerminalSize): string {
  const each = `t=$(readlink "\${s%/status}/fd/0" 2>/dev/null); case $t in /dev/pts/*) stty rows ${rows} cols ${cols} <"$t";; esac`
  const script = `for s in /proc/[0-9]*/status; do if grep -q "^PPid:[[:space:]]*$PPID$" "$s" 2>/dev/null; then ${each}; fi; done`
  return `exec sh -c ${shellWord(script)}`
}

/** Pure: the system's ssh over a connection that is there; it makes none of its own. */
export function joinedSshArguments(
  guest: Pick<GuestSsh, 'login' | 'host'> & { control: string },
  command: string,
): string[] {
  const options: [string, string][] = [
    ...controlOptions(guest.control, 'no'),
    ['ProxyCommand', 'false'],
    ['BatchMode', 'yes'],
    ['LogLevel', 'ERROR'],
  ]
  const given = options.flatMap(([name, value]) => ['-o', `${name}=${value}`])
  return ['-F', 'none', ...given, '-T', '-l', guest.login, '--', guest.host, command]
}

/** The last thing ssh said of itself, for people; empty = nothing. */
export function lastWord(said: string): string {
  const lines = said
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '')
  return (lines.at(-1) ?? '').slice(0, 100)
}

/** Why a shell is over, by its exit status; null = a signal ended it. */
export const exitWords = (status: number | null): string =>
  status === 0 ? 'it was left' : status === null ? 'it was ended there' : `it was left with status ${status}`
