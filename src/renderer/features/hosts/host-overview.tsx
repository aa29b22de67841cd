import type { ReactNode } from 'react'
import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import { cx } from '../../lib/class-names.ts'
import { formatAgo, formatGib, formatMemory, shortId } from '../../lib/format.ts'
import { useNow } from '../../state/now.ts'
import { CopyButton } from '../../ui/copy-text.tsx'
import { Card, Facts } from '../../ui/page.tsx'
import { HostClockLine } from '../clock/host-clock-line.tsx'
import { HostCharts } from '../metrics/host-charts.tsx'
import { labelText } from '../vms/labels-text.ts'
import { HostProblemList } from './host-problem-list.tsx'
import { InUse } from './host-use.tsx'
import { asOf, bootedAtMs, isCurrent, shareOf } from './view-model.ts'

export function HostOverview({ host }: { host: Host }) {
  const now = useNow()
  const age = asOf(host, now)
  return (
    <>
      <HostProblemList host={host} />
      {host.notices.map((notice) => (
        <p key={notice} className="rounded-lg border border-line bg-panel px-3 py-2 text-dim">
          {notice}
        </p>
      ))}
      <div className={cx('grid gap-4 lg:grid-cols-2', !isCurrent(host) && 'text-faint')}>
        <Capacity host={host} age={age} />
        <InUse host={host} asOf={age === '' ? '' : ` ${age}`} />
        <Machine host={host} age={age} />
        <About host={host} now={now} age={age} />
      </div>
      <HostCharts host={host} />
    </>
  )
}

const titled = (title: string, age: string) => (age === '' ? title : `${title} ${age}`)
const NAMES = { vcpus: 'vCPU', memMb: 'Memory', diskGb: 'Disk' } as const
const says = (what: keyof typeof NAMES, n: number): string =>
  what === 'memMb' ? formatMemory(n) : what === 'diskGb' ? formatGib(n) : String(n)

/** Promised to VMs, and what is left to promise. More may be promised than there is: said, not hidden. */
function Capacity({ host, age }: { host: Host; age: string }) {
  const rows = (['vcpus', 'memMb', 'diskGb'] as const).map((what): [string, ReactNode] => {
    const share = shareOf(host, what)
    if (!share)
      return [
        NAMES[what],
        <span key={what} className="text-faint">
          not told yet
        </span>,
      ]
    const free = share.total - share.used
    const left = free < 0 ? `${says(what, -free)} more than there is` : `${says(what, free)} not promised`
    return [
      NAMES[what],
      <Promised
        key={what}
        what={NAMES[what]}
        {...share}
        text={says(what, share.used)}
        of={says(what, share.total)}
        left={left}
        over={free < 0}
        old={age !== ''}
      />,
    ]
  })
  return (
    <Card title={titled('Promised to VMs', age)}>
      <Facts rows={rows} />
    </Card>
  )
}

interface PromisedProps {
  what: string
  used: number
  total: number
  text: string
  of: string
  left: string
  over: boolean
  /** Last known, not what is. */
  old: boolean
}

function Promised({ what, used, total, text, of, left, over, old }: PromisedProps) {
  const share = total > 0 ? Math.min(1, used / total) : 0
  return (
    <div className="grid gap-1">
      <div
        role="meter"
        aria-label={`${what} promised to VMs`}
        aria-valuemin={0}
        aria-valuemax={total}
        aria-valuenow={Math.min(used, total)}
        className="mt-1.5 h-1.5 overflow-hidden rounded-full bg-sunken"
      >
        <div
          className={cx('h-full rounded-full', old ? 'bg-line-strong' : over ? 'bg-warn' : 'bg-accent')}
          style={{ width: `${share * 100}%` }}
        />
      </div>
      <span className="flex flex-wrap justify-between gap-x-3">
        <span>
          {text} of {of}
        </span>
        <span className={over ? 'text-warn' : 'text-faint'}>{left}</span>
      </span>
    </div>
  )
}

const none = <span className="text-faint">none</span>
const notTold = <span className="text-faint">not told yet</span>

function Machine({ host, age }: { host: Host; age: string }) {
  const acceleration = [host.acceleration.toUpperCase(), host.accelerationDetail].filter(Boolean).join(': ')
  return (
    <Card title={titled('Machine', age)}>
      <Facts
        rows={[
          ['System', [host.os, host.arch].filter(Boolean).join(' · ') || notTold],
          ['Processor', host.cpuModel || notTold],
          ['Hypervisor', host.vmmVersion || host.backend || notTold],
          ['Acceleration', acceleration || notTold],
          ['Service manager', host.init === 'none' ? 'none' : host.init || notTold],
          ['Uplink address', host.uplinkAddress || notTold],
          ...(host.guestCidr ? ([['Guests’ network', host.guestCidr]] satisfies [string, string][]) : []),
          ...(host.missing.length > 0 ? ([['Lacks', host.missing.join(', ')]] satisfies [string, string][]) : []),
        ]}
      />
    </Card>
  )
}

function About({ host, now, age }: { host: Host; now: number; age: string }) {
  const booted = bootedAtMs(host)
  const labels = Object.entries(host.labels).map(labelText)
  return (
    <Card title={titled('Boot, clock and labels', age)}>
      <Facts
        rows={[
          ['Boot', <Boot key="boot" id={host.bootId} booted={booted} now={now} />],
          ['Clock', <HostClockLine key="clock" host={host} />],
          ['Labels', labels.join(', ') || none],
          ['Host id', <Mono key="id" text={host.id} shown={shortId(host.id)} />],
        ]}
      />
    </Card>
  )
}

function Boot({ id, booted, now }: { id: string; booted: number | undefined; now: number }) {
  if (id === '' && booted === undefined) return notTold
  return (
    <span className="flex flex-wrap items-center gap-x-2">
      {booted !== undefined && (
        <span title={new Date(booted).toISOString()}>rebooted {formatAgo(new Date(booted), new Date(now))}</span>
      )}
      {id !== '' && <Mono text={id} shown={`boot id ${shortId(id)}`} />}
    </span>
  )
}

function Mono({ text, shown }: { text: string; shown: string }) {
  return (
    <span className="flex items-center gap-1">
      <code className="font-mono text-xs">{shown}</code>
      <CopyButton text={text} label="Copy all of it" />
    </span>
  )
}
