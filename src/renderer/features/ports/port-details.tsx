import { Radar } from 'lucide-react'
import type { Port } from '../../../ipc/gen/eitri/fleet/v1/port_pb.js'
import { formatMoment } from '../../lib/format.ts'
import { msOf } from '../../lib/timestamp.ts'
import { hrefOf } from '../../routes.ts'
import { useNow } from '../../state/now.ts'
import { useFleet } from '../../state/use-fleet.ts'
import { Button } from '../../ui/button.tsx'
import { CopyText } from '../../ui/copy-text.tsx'
import { FaultNotice } from '../../ui/fault-notice.tsx'
import { Facts } from '../../ui/page.tsx'
import { StateWord } from '../../ui/state-word.tsx'
import { unpublish } from './actions.ts'
import { listenerWords, probeFrom, probeState, scopeWords } from './probe-view.ts'
import { probe, useProbed } from './probes.ts'
import { leadsTo, portState, publishedAt, sessionWords } from './view-model.ts'

/** A published port in the drawer: where it leads, who listens, and whether it is reached. */
export function PortDetails({ id }: { id: string }) {
  const port = useFleet((f) => f.ports.get(id))
  return port ? <Body port={port} /> : <p className="text-dim">It is not published any more.</p>
}

function Body({ port }: { port: Port }) {
  const now = useNow()
  const state = portState(port)
  const made = msOf(port.createdAt)
  return (
    <div className="grid gap-4">
      <CopyText text={publishedAt(port)} label="Copy the address" />
      <Facts
        rows={[
          ['State', <StateWord key="state" state={state} />],
          ...(state.detail ? ([['Why', state.detail]] satisfies [string, string][]) : []),
          [
            'Leads to',
            <a key="vm" href={hrefOf({ page: 'vm', id: port.vmId, tab: 'ports' })} className="hover:underline">
              {leadsTo(port)}
            </a>,
          ],
          [
            'Host',
            <a key="host" href={hrefOf({ page: 'host', id: port.hostId, tab: 'networks' })} className="hover:underline">
              {port.hostName}
            </a>,
          ],
          ['Who listens', listenerWords(port)],
          ['Connections', sessionWords(port) ?? 'not counted'],
          ['Open to', scopeWords(port)],
          ...(made === undefined
            ? []
            : ([['Published', formatMoment(new Date(made), new Date(now))]] satisfies [string, string][])),
        ]}
      />
      <Reach port={port} />
      <div>
        <Button size="small" onClick={() => void unpublish(port)}>
          Unpublish
        </Button>
      </div>
    </div>
  )
}

function Reach({ port }: { port: Port }) {
  const probed = useProbed(port.id)
  const isRunning = probed?.state === 'running'
  return (
    <section aria-label="Reachability" className="grid gap-2 rounded-lg border border-line px-3 py-2.5">
      <div className="flex items-center justify-between">
        <h3 className="font-medium">Can it be reached?</h3>
        <Button size="small" disabled={isRunning} onClick={() => void probe(port)}>
          <Radar size={13} aria-hidden />
          {isRunning ? 'Trying, at most 5 s…' : probed ? 'Try again' : 'Try now'}
        </Button>
      </div>
      {!probed && <p className="text-dim text-xs">A connection is made and ended at once; nothing is sent.</p>}
      {probed?.state === 'failed' && <FaultNotice fault={probed.fault} />}
      {probed?.state === 'done' && (
        <ul className="grid gap-2">
          {probed.probes.map((one) => {
            const state = probeState(one)
            return (
              <li key={one.from}>
                <p className="flex flex-wrap items-center gap-x-2">
                  <StateWord state={state} />
                  <span className="text-dim text-xs">
                    {probeFrom(one, port)} to {one.to}
                    {one.tookMs === undefined ? '' : `, ${one.tookMs} ms`}
                  </span>
                </p>
                {state.detail && <p className="text-dim text-xs">{state.detail}</p>}
              </li>
            )
          })}
        </ul>
      )}
    </section>
  )
}
