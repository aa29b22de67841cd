import path from 'node:path'
import { fingerprintOf, type HostKey } from '../../src/main/control/hosts/ssh/host-keys.ts'
import type { SshHost } from './ssh-host.ts'

/** One more sshd on a test host, on a port and with a log of its own. */
export interface HostSshd {
  readonly port: number
  readonly hostKey: HostKey
  /** Its log as this side sees it. */
  readonly logFile: string
  /** Ends it and every connection it serves. */
  stop(): Promise<void>
}

export interface HostSshdOptions {
  port: number
  /** Of its configuration, in place of the defaults of the same keywords. */
  lines?: string[]
  /** Its PAM service, which must be there. Absent = sshd. */
  pam?: string
}

const DEFAULTS = [
  'HostKey /etc/ssh/rig_host_key',
  'UsePAM yes',
  'PermitRootLogin yes',
  'PasswordAuthentication no',
  'KbdInteractiveAuthentication no',
  'Subsystem sftp internal-sftp',
  'PrintMotd no',
  'UseDNS no',
  'LogLevel VERBOSE',
  'SetEnv EITRI_GUEST_NETWORK=user',
]

const keyword = (line: string) => line.split(/\s/, 1)[0]?.toLowerCase()

/** Starts it and waits until it listens. */
export async function startHostSshd(host: SshHost, { port, lines = [], pam }: HostSshdOptions): Promise<HostSshd> {
  const [config, log, pidFile] = ['conf', 'log', 'pid'].map((what) => `/run/sshd-${port}.${what}`) as [
    string,
    string,
    string,
  ]
  // PAM knows a server by the name it runs under.
  const program = pam === undefined ? '/usr/sbin/sshd' : `/usr/sbin/${pam}`
  if (pam !== undefined) await host.must(['ln', '-sf', '/usr/sbin/sshd', program])
  const given = new Set(lines.map(keyword))
  const kept = DEFAULTS.filter((line) => !given.has(keyword(line)))
  const text = [`Port ${port}`, `PidFile ${pidFile}`, ...kept, ...lines].join('\n')
  await host.must(['sh', '-c', `cat >${config} && ${program} -f ${config} -E ${log}`], { input: `${text}\n` })
  const listens = `for i in $(seq 200); do [ -s ${pidFile} ] && exit 0; sleep 0.02; done; cat ${log} >&2; exit 1`
  await host.must(['sh', '-c', listens])
  const blob = Buffer.from((await host.must(['cat', '/etc/ssh/rig_host_key.pub'])).split(' ')[1] ?? '', 'base64')
  return {
    port,
    hostKey: { type: 'ssh-ed25519', blob, fingerprint: fingerprintOf(blob) },
    logFile: host.outside(path.posix.join(log)),
    async stop() {
      await host.exec(['sh', '-c', `p=$(cat ${pidFile}); kill "$p" $(cat /proc/$p/task/$p/children)`])
    },
  }
}
