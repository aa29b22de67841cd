import type { ReactNode } from 'react'
import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import { formatDuration, formatMemoryBytes, formatPermille, plural } from '../../lib/format.ts'
import { Card, Facts } from '../../ui/page.tsx'
import { Meter } from '../../ui/progress.tsx'
import { hostUse, isCurrent, type Share } from './view-model.ts'

const missing = <span className="text-faint">not reported</span>

/** What is at work on the host, in one line of the table. */
export function UseCell({ host }: { host: Host }) {
  const { cpu, memory } = hostUse(host)
  if (!cpu && !memory) return missing
  const parts = [cpu && `CPU ${formatPermille(cpu.used)}`, memory && formatMemoryBytes(memory.used)]
  return <span className={isCurrent(host) ? '' : 'text-faint'}>{parts.filter(Boolean).join(' · ')}</span>
}

/** What is at work on the host now, VMs or not. */
export function InUse({ host, asOf }: { host: Host; asOf: string }) {
  const { cpu, memory, swap, disk } = hostUse(host)
  const { cpus, load1, load5, load15, uptimeS, agentRssBytes, agentFds } = host.metrics ?? {}
  const of = (share: Share, say: (n: number) => string) => `${say(share.used)} of ${say(share.total)}`
  const rows: [string, ReactNode][] = [
    ['CPU', meter('CPU', cpu, ({ used }) => `${formatPermille(used)}${cpus ? ` of ${plural(cpus, 'CPU')}` : ''}`)],
    ['Memory', meter('Memory', memory, (share) => of(share, formatMemoryBytes))],
    ...(swap
      ? ([['Swap', meter('Swap', swap, (share) => of(share, formatMemoryBytes))]] satisfies [string, ReactNode][])
      : []),
    ['Disk', meter('Disk', disk, (share) => of(share, formatMemoryBytes))],
    ['Load', [load1, load5, load15].every((load) => load === undefined) ? missing : loads(load1, load5, load15)],
    ['Up for', uptimeS === undefined ? missing : formatDuration(Number(uptimeS) * 1000)],
    ['Agent', agentRssBytes === undefined ? missing : agent(agentRssBytes, agentFds)],
  ]
  return (
    <Card title={`In use${asOf}`}>
      <Facts rows={rows} />
    </Card>
  )
}

function meter(what: string, share: Share | undefined, text: (share: Share) => string): ReactNode {
  return share ? <Meter {...share} calm={what === 'CPU'} label={`${what} in use`} text={text(share)} /> : missing
}

function loads(...values: (number | undefined)[]): ReactNode {
  const text = values.map((value) => value?.toFixed(2) ?? '–').join(' · ')
  return <span title="Over 1, 5 and 15 minutes">{text}</span>
}

const agent = (rss: bigint, fds: number | undefined): string =>
  [formatMemoryBytes(rss), fds === undefined ? '' : plural(fds, 'open file')].filter(Boolean).join(', ')
