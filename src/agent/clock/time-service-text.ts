import { type Sync, wholeOf } from './chrony-text.ts'

/** Of `ntpq -pn`: the peer ntpd follows is marked; undefined = that is no table of peers. */
export function peersOf(table: string): Sync | undefined {
  const lines = table.split('\n')
  if (!lines.some((line) => /^\s*remote\s+refid\s+st\s/.test(line))) return undefined
  const followed = lines.find((line) => /^[*o]/.test(line))
  if (!followed) return { state: 'not_synchronised', offsetUs: undefined, stratum: undefined, source: '' }
  const [source = '', , stratum, , , , , , offset] = followed.slice(1).trim().split(/\s+/)
  // ntpq tells in ms how far the peer is ahead of this host.
  const ms = Number(offset)
  return {
    state: 'synchronised',
    offsetUs: offset !== undefined && Number.isFinite(ms) ? Math.round(-ms * 1000) : undefined,
    stratum: wholeOf(stratum),
    source: source.slice(0, 128),
  }
}

/** What systemd says: `kernel` is the kernel's own flag, whoever set it. */
export interface SystemdTime {
  kernel: boolean | undefined
  /** timesyncd's server; '' = it has none, or does not run. */
  server: string
  stratum: number | undefined
}

/** Of `timedatectl show` and `timedatectl show-timesync`; either may be empty. */
export function systemdTimeOf(show: string, timesync: string): SystemdTime {
  const flag = /^NTPSynchronized=(yes|no)$/m.exec(show)?.[1]
  const value = (key: string) => new RegExp(`^${key}=(.*)$`, 'm').exec(timesync)?.[1]?.trim() ?? ''
  return {
    kernel: flag === undefined ? undefined : flag === 'yes',
    server: (value('ServerName') || value('ServerAddress')).slice(0, 128),
    stratum: wholeOf(/\bStratum=(\d+)/.exec(value('NTPMessage'))?.[1]),
  }
}
