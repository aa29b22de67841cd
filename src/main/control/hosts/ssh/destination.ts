import { Fault } from '../../../../ipc/faults.ts'

/** What a person typed for a host; absent parts are left to the SSH configuration. */
export interface Destination {
  host: string
  user?: string
  port?: number
}

const HOST_CHARS = /^[A-Za-z0-9_.:%-]{1,255}$/
/** ssh hands users of hosts on the way to a shell: a `$` stands only at the end, as in the names of machines, a `\` never there. */
const USER_CHARS = /^(?=.{1,128}$)[A-Za-z0-9_.@\\-]*[A-Za-z0-9_.@$-]$/

/** `[user@]host[:port]`, `[user@][v6][:port]` or `ssh://` before either. Raises input/invalid. */
export function parseDestination(typed: string): Destination {
  const text = typed
    .trim()
    .replace(/^ssh:\/\//, '')
    .replace(/\/$/, '')
  const at = text.lastIndexOf('@')
  const user = at >= 0 ? text.slice(0, at) : undefined
  const { host, port } = splitPort(text.slice(at + 1), typed)
  if (!HOST_CHARS.test(host) || host.startsWith('-')) throw invalid(typed, 'it is no host name or address')
  if (user !== undefined && (!USER_CHARS.test(user) || user.startsWith('-')))
    throw invalid(typed, 'the user before @ is not a login name')
  return { host, ...(user === undefined ? {} : { user }), ...(port === undefined ? {} : { port }) }
}

function splitPort(text: string, typed: string): { host: string; port?: number } {
  const bracketed = /^\[([^\]]*)\](?::(.*))?$/.exec(text)
  if (bracketed) return { host: bracketed[1] ?? '', ...portOf(bracketed[2], typed) }
  const colon = text.indexOf(':')
  // More than one colon without brackets is an IPv6 address.
  if (colon < 0 || text.indexOf(':', colon + 1) >= 0) return { host: text }
  return { host: text.slice(0, colon), ...portOf(text.slice(colon + 1), typed) }
}

function portOf(text: string | undefined, typed: string): { port?: number } {
  if (text === undefined) return {}
  const port = Number(text)
  if (!/^\d{1,5}$/.test(text) || port < 1 || port > 65_535) throw invalid(typed, 'the port is not 1 to 65535')
  return { port }
}

const invalid = (value: string, problem: string) =>
  new Fault('input/invalid', 'permanent', { field: 'host', value: value.slice(0, 100), problem })
