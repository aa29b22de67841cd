/** What a person typed as `[user@]host[:port]`, taken apart. `[v6]:port` keeps its brackets out. */
export interface SshTarget {
  host: string
  user: string
  /** Undefined = as the ssh configuration says. */
  port: number | undefined
}

export function parseSshTarget(text: string): SshTarget {
  const trimmed = text.trim()
  const at = trimmed.lastIndexOf('@')
  const user = at > 0 ? trimmed.slice(0, at) : ''
  const rest = trimmed.slice(at + 1)
  const bracketed = /^\[([^\]]+)\](?::(\d+))?$/.exec(rest)
  const plain = /^([^:]+):(\d+)$/.exec(rest)
  const [, host = rest, port] = bracketed ?? plain ?? []
  return { host, user, port: port === undefined ? undefined : Number(port) }
}

/** A name for the host row, made from where it is: its first label, in the letters a name may have. */
export function nameFromTarget(host: string): string {
  const isAddress = /^[\d.]+$|:/.test(host)
  const label = isAddress ? `host-${host}` : (host.split('.')[0] ?? '')
  return label
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 63)
    .replace(/^-+|-+$/g, '')
}
