import { Table2 } from 'lucide-react'
import { type ReactNode, useMemo, useRef, useState } from 'react'
import { fromConnectError } from '../../../ipc/fault-wire.ts'
import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import { cx } from '../../lib/class-names.ts'
import { formatTime } from '../../lib/format.ts'
import { Button } from '../../ui/button.tsx'
import { FaultNotice } from '../../ui/fault-notice.tsx'
import { ViewToggle } from '../../ui/view-toggle.tsx'
import { isCurrent } from '../hosts/view-model.ts'
import { ChartCard } from './chart-card.tsx'
import { ChartTable } from './chart-table.tsx'
import { type Chart, SPANS } from './charts.ts'
import { createCrosshair } from './crosshair.ts'
import { type Subject, useHistory } from './queries.ts'
import { broken, gapsOf, type History } from './series.ts'
import { useOnScreen } from './use-on-screen.ts'

export interface ChartGroupProps {
  subject: Subject
  name: string
  charts: readonly Chart[]
  /** Who keeps the numbers; undefined = nobody that is known. */
  host: Host | undefined
  /** Heading; absent = none. */
  title?: string
}

/** Charts of one host or VM over one span, pointed at together. */
export function ChartGroup({ subject, name, charts, host, title }: ChartGroupProps) {
  const box = useRef<HTMLDivElement>(null)
  const isSeen = useOnScreen(box)
  const [spanId, setSpan] = useState<string>(SPANS[0].id)
  const [asTable, setAsTable] = useState(false)
  const span = SPANS.find(({ id }) => id === spanId) ?? SPANS[0]
  const answers = host !== undefined && isCurrent(host)
  const { data, error, isPlaceholderData } = useHistory(
    subject,
    { spanMs: span.ms, samples: span.samples },
    isSeen && answers,
  )
  const fault = error && answers ? fromConnectError(error).toData() : undefined
  return (
    <div ref={box} className="grid min-w-0 gap-3">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
        {title && <h2 className="font-medium">{title}</h2>}
        <ViewToggle label="Time span of the charts" views={SPANS} value={span.id} onView={setSpan} />
        <Button look="quiet" aria-pressed={asTable} onClick={() => setAsTable(!asTable)}>
          <Table2 size={14} aria-hidden />
          Read as table
        </Button>
        <Standing host={host} data={data} isWaiting={isPlaceholderData} />
      </div>
      {fault && <FaultNotice fault={fault} tone="warn" />}
      {data ? (
        <Shown {...{ charts, name, data, asTable, isOld: !answers || fault !== undefined }} />
      ) : (
        !fault && <Nothing>{answers ? `Asking ${host.name} for ${span.words}…` : whyNone(host)}</Nothing>
      )}
    </div>
  )
}

const Nothing = ({ children }: { children: ReactNode }) => (
  <p className="rounded-lg border border-line bg-panel px-4 py-6 text-center text-dim">{children}</p>
)

const whyNone = (host: Host | undefined) =>
  host
    ? `${host.name} does not answer. What was measured is kept there and is shown once it answers again.`
    : 'Its host is not in this fleet.'

/** What to know of the numbers before they are believed. */
function Standing({
  host,
  data,
  isWaiting,
}: {
  host: Host | undefined
  data: History | undefined
  isWaiting: boolean
}) {
  if (!data) return null
  const isOld = !host || !isCurrent(host)
  const asOf = formatTime(new Date(data.askedAt), new Date())
  const words = isWaiting
    ? `Asking ${host?.name ?? 'its host'}…`
    : isOld
      ? `Last known, as of ${asOf}: ${host ? `${host.name} does not answer` : 'its host is not in this fleet'}.`
      : ''
  return (
    <p role="status" className={cx('text-xs', isOld ? 'text-warn' : 'text-faint')}>
      {words}
    </p>
  )
}

function Shown({
  charts,
  name,
  data,
  asTable,
  isOld,
}: {
  charts: readonly Chart[]
  name: string
  data: History
  asTable: boolean
  isOld: boolean
}) {
  const [crosshair] = useState(createCrosshair)
  const toMs = data.askedAt
  // While another span is on its way the one before is shown, on its own scale.
  const fromMs = toMs - data.spanMs
  const samples = useMemo(() => broken(data), [data])
  const gaps = useMemo(() => gapsOf(data, fromMs, toMs), [data, fromMs, toMs])
  if (data.samples.length === 0) return <Nothing>Nothing was measured in this time.</Nothing>
  if (asTable) return <ChartTable charts={charts} name={name} samples={data.samples} gaps={gaps} />
  return (
    <div
      className={cx(
        'grid min-w-0 gap-3',
        charts.length > 1 && 'lg:grid-cols-2 lg:[&>*:last-child:nth-child(odd)]:col-span-2',
      )}
    >
      {charts.map((chart) => (
        <ChartCard key={chart.id} {...{ chart, name, samples, gaps, fromMs, toMs, crosshair, isOld }} />
      ))}
    </div>
  )
}
