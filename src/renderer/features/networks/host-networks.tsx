import { ScanSearch } from 'lucide-react'
import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import { useNow } from '../../state/now.ts'
import { Button } from '../../ui/button.tsx'
import { StateWord } from '../../ui/state-word.tsx'
import { runPreflight } from './actions.ts'
import { conflictsOf } from './conflicts.ts'
import { FindingNote } from './finding-note.tsx'
import { NetworkCard } from './network-card.tsx'
import { useRunning } from './use-running.ts'
import { findingsOf } from './view-model.ts'

/** What keeps guests of a host from their network, and its networks. */
export function HostNetworks({ host }: { host: Host }) {
  const minute = Math.floor(useNow() / 10_000) * 10_000
  const findings = findingsOf(host)
  const conflicts = conflictsOf(host)
  return (
    <div className="grid gap-3">
      {findings.length > 0 && (
        <ul aria-label={`Findings on ${host.name}`} className="grid gap-2">
          {findings.map((finding) => (
            <FindingNote key={finding.id} host={host} finding={finding} />
          ))}
        </ul>
      )}
      {conflicts.length > 0 && (
        <ul aria-label={`Conflicts on ${host.name}`} className="grid gap-2">
          {conflicts.map(({ key, what, effect }) => (
            <li key={key} className="rounded-lg border border-warn/40 bg-warn/6 px-3 py-2.5">
              <StateWord state={{ word: 'Conflict', tone: 'warn' }} strong />
              <p className="mt-1 break-words font-medium">{what}</p>
              <p className="break-words text-dim">{effect}</p>
            </li>
          ))}
        </ul>
      )}
      {host.networks.length === 0 ? (
        <p className="text-faint">It has not told of its networks yet.</p>
      ) : (
        <div className="grid gap-3 lg:grid-cols-2">
          {host.networks.map((network) => (
            <NetworkCard key={network.name} network={network} now={minute} />
          ))}
        </div>
      )}
    </div>
  )
}

export function PreflightButton({ host }: { host: Host }) {
  const [running, run] = useRunning(() => runPreflight(host))
  const reachable = host.link === 'connected'
  return (
    <Button
      size="small"
      disabled={running || !reachable}
      title={
        reachable
          ? 'Look now at what keeps guests from their network; changes nothing'
          : `${host.name} is not connected`
      }
      onClick={run}
    >
      <ScanSearch size={13} aria-hidden />
      {running ? 'Looking…' : 'Run preflight'}
    </Button>
  )
}
