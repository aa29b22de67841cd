import { Undo2, Wrench } from 'lucide-react'
import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import type { NetworkFinding } from '../../../ipc/gen/eitri/fleet/v1/network_pb.js'
import { cx } from '../../lib/class-names.ts'
import { Button } from '../../ui/button.tsx'
import { CopyButton } from '../../ui/copy-text.tsx'
import { StateWord } from '../../ui/state-word.tsx'
import { mendFinding, undoMend } from './actions.ts'
import { useRunning } from './use-running.ts'
import { findingState } from './view-model.ts'

/** One thing that keeps guests from their network: what it is, what it does to them, its rule, and what can be done. */
export function FindingNote({ host, finding }: { host: Host; finding: NetworkFinding }) {
  const { id, what, effect, rule, mend, mended } = finding
  const state = findingState(finding)
  const [running, run] = useRunning(() => (mended ? undoMend(host, finding) : mendFinding(host, finding)))
  const reachable = host.link === 'connected'
  return (
    <li
      className={cx(
        'grid gap-2 rounded-lg border px-3 py-2.5',
        state.tone === 'bad'
          ? 'border-bad/40 bg-bad/6'
          : state.tone === 'warn'
            ? 'border-warn/40 bg-warn/6'
            : 'border-line',
      )}
    >
      <div className="flex items-start gap-3">
        <div className="min-w-0 flex-1">
          <p className="flex flex-wrap items-baseline gap-x-3">
            <StateWord state={state} strong />
            <code className="font-mono text-faint text-xs">{id}</code>
          </p>
          <p className="mt-1 break-words font-medium">{what}</p>
          <p className="break-words text-dim">
            {mended ? 'A mend is in force; it is put back when the host loses it.' : effect}
          </p>
        </div>
        {(mended || mend !== '') && (
          <Button
            size="small"
            look={mended ? 'plain' : 'primary'}
            disabled={running || !reachable}
            title={reachable ? mend : `${host.name} is not connected`}
            onClick={run}
          >
            {mended ? <Undo2 size={13} aria-hidden /> : <Wrench size={13} aria-hidden />}
            {mended ? (running ? 'Undoing…' : 'Undo') : running ? 'Mending…' : 'Mend'}
          </Button>
        )}
      </div>
      {rule !== '' && (
        <div className="flex items-start gap-1 rounded-md bg-bg px-2 py-1">
          <code className="min-w-0 flex-1 break-all font-mono text-xs leading-5">{rule}</code>
          <CopyButton text={rule} label="Copy the rule" />
        </div>
      )}
      {!mended && mend !== '' && <p className="text-dim text-xs">{mend}</p>}
    </li>
  )
}
