import { Radar } from 'lucide-react'
import type { Port } from '../../../ipc/gen/eitri/fleet/v1/port_pb.js'
import { formatAgo } from '../../lib/format.ts'
import { useNow } from '../../state/now.ts'
import { IconButton } from '../../ui/button.tsx'
import { StateWord } from '../../ui/state-word.tsx'
import { reachState } from './probe-view.ts'
import { probe, useProbed } from './probes.ts'
import { publishedAt } from './view-model.ts'

/** What the last try found and how old that is, and the button that tries again. */
export function ReachCell({ port }: { port: Port }) {
  const probed = useProbed(port.id)
  const state = reachState(probed)
  const isRunning = probed?.state === 'running'
  return (
    <span className="flex min-w-0 items-center gap-1.5">
      <IconButton
        label={`Try whether ${publishedAt(port)} can be reached`}
        className="size-6"
        disabled={isRunning}
        onClick={() => void probe(port)}
      >
        <Radar size={14} aria-hidden />
      </IconButton>
      {state ? <StateWord state={state} /> : <span className="text-faint">not tried</span>}
      {probed && probed.state !== 'running' && <Age at={probed.at} />}
    </span>
  )
}

function Age({ at }: { at: number }) {
  const now = useNow()
  return <span className="shrink-0 text-faint text-xs">{formatAgo(new Date(at), new Date(Math.max(at, now)))}</span>
}
