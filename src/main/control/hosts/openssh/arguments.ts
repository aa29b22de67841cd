import type { HostTyped } from '../../store/host-row.ts'

/** Names of the files in the folder of one connection. */
export const CONFIG_FILE = 'config'
export const CONTROL_SOCKET = 'c'

/** Seconds to reach a host by TCP, through its handshake. */
export const CONNECT_TIMEOUT_S = 10

export interface MasterWay {
  typed: HostTyped
  dir: string
  /** It is dialled straight: nobody else's sign-in runs inside its connect timeout. */
  direct: boolean
}

/** Pure: the ssh that signs in once and then carries what others open on its control socket. */
export function masterArguments({ typed, dir, direct }: MasterWay): string[] {
  return [
    ...['-F', `${dir}/${CONFIG_FILE}`, '-M', '-S', `${dir}/${CONTROL_SOCKET}`, '-N', '-T'],
    ...option('ControlPersist=no'),
    ...(direct ? option(`ConnectTimeout=${CONNECT_TIMEOUT_S}`) : []),
    ...(typed.port === undefined ? [] : ['-p', String(typed.port)]),
    ...(typed.user === undefined ? [] : ['-l', typed.user]),
    ...(typed.identityFile === undefined ? [] : [...option('IdentitiesOnly=yes'), '-i', typed.identityFile]),
    ...(typed.jump === undefined ? [] : option(`ProxyJump=${typed.jump}`)),
    ...['--', typed.host],
  ]
}

/** What stands for the host where only the control socket decides. */
const ANY_HOST = 'host'

/**
 * Reads no configuration, and fails rather than sign in a second time when the master is gone. Its own words go to a file:
 * stderr is the command's.
 */
const slave = (dir: string, log: string): string[] => [
  ...['-F', 'none', '-S', `${dir}/${CONTROL_SOCKET}`, '-E', log],
  ...['ControlMaster=no', 'ProxyCommand=false', 'BatchMode=yes', 'LogLevel=DEBUG2'].flatMap(option),
]

/** Pure: a command on the host, over the master's sign-in. */
export const commandArguments = (dir: string, log: string, command: string, pty: boolean): string[] => [
  ...slave(dir, log),
  // Every character typed is the command's: none ends ssh.
  ...(pty ? [...option('EscapeChar=none'), '-tt'] : ['-T']),
  ...['--', ANY_HOST, command],
]

/** Pure: bytes to and from a TCP port as the host reaches it. */
export const tcpArguments = (dir: string, log: string, host: string, port: number): string[] => [
  ...slave(dir, log),
  ...['-T', '-W', `${host.includes(':') ? `[${host}]` : host}:${port}`, '--', ANY_HOST],
]

/**
 * Pure: whether ssh takes a path that a host named as it is: in a forwarding it fills in this computer's environment, and
 * its tokens, and would tell the host.
 */
export const isForwardable = (remote: string): boolean => /^\/[^\0-\x1f\x7f$%:\\[\]]+$/.test(remote)

/** Pure: makes the master listen on `local` for a unix socket of the host; only for what `isForwardable`. */
export const socketArguments = (dir: string, log: string, local: string, remote: string): string[] => [
  ...slave(dir, log),
  ...['-O', 'forward', '-L', `${local}:${remote}`, '--', ANY_HOST],
]

/** Pure: whether the master is there. */
export const aliveArguments = (dir: string, log: string): string[] => [
  ...slave(dir, log),
  ...['-O', 'check', '--', ANY_HOST],
]

function option(text: string): string[] {
  return ['-o', text]
}
