import { AlertTriangle, XCircle } from 'lucide-react'
import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import { cx } from '../../lib/class-names.ts'
import { formatDuration } from '../../lib/format.ts'
import { go } from '../../routes.ts'
import { useNow } from '../../state/now.ts'
import { useVms } from '../../state/use-fleet.ts'
import { Button } from '../../ui/button.tsx'
import { CopyText } from '../../ui/copy-text.tsx'
import { reconnectHost, undrainHost } from './actions.ts'
import { type HostMove, type HostProblem, hostProblems } from './host-problems.ts'
import { useHostSheets } from './host-sheets.tsx'
import { nextTryInMs } from './view-model.ts'

const MOVE_LABEL: Record<Exclude<HostMove, 'none'>, string> = {
  'try-now': 'Try now',
  'sign-in': 'Sign in…',
  'compare-keys': 'Compare keys…',
  'take-over': 'Take over…',
  'use-own-data': "Use this app's data…",
  'update-agent': 'Update agent…',
  undrain: 'Undrain',
  'open-clock': 'Look at clocks',
  'open-networks': 'Look at networks',
}

/** What is wrong with a host, each with what it means and its one next move. */
export function HostProblemList({ host }: { host: Host }) {
  const unknown = useVms().filter((vm) => vm.hostId === host.id && vm.hostUnknown && !vm.deletedAt).length
  const problems = hostProblems(host, { unknown })
  if (problems.length === 0) return null
  return (
    <ul aria-label={`Problems of ${host.name}`} className="grid gap-2">
      {problems.map((problem) => (
        <Problem key={problem.id} host={host} problem={problem} />
      ))}
    </ul>
  )
}

function Problem({ host, problem }: { host: Host; problem: HostProblem }) {
  const now = useNow()
  const wait = problem.id === 'link' ? nextTryInMs(host, now) : undefined
  const bad = problem.tone === 'bad'
  const Icon = bad ? XCircle : AlertTriangle
  return (
    <li
      className={cx(
        'flex flex-wrap items-start gap-x-2.5 gap-y-2 rounded-lg border px-3 py-2.5',
        bad ? 'border-bad/40 bg-bad/6' : 'border-warn/40 bg-warn/6',
      )}
    >
      <Icon size={16} aria-hidden className={cx('mt-0.5 shrink-0', bad ? 'text-bad' : 'text-warn')} />
      <div className="min-w-56 flex-1 break-words">
        <p className="font-medium">{problem.what}</p>
        <p className="text-dim">
          {problem.effect}
          {wait !== undefined && ` Trying again by itself in ${formatDuration(wait)}.`}
        </p>
        {problem.command !== '' && (
          <div className="mt-1.5">
            <CopyText text={problem.command} label="Copy the command" />
          </div>
        )}
      </div>
      <Move host={host} move={problem.move} />
    </li>
  )
}

function Move({ host, move }: { host: Host; move: HostMove }) {
  const sheets = useHostSheets()
  if (move === 'none') return null
  const acts: Record<Exclude<HostMove, 'none'>, () => void> = {
    'try-now': () => void reconnectHost(host),
    'sign-in': () => sheets.signIn(host),
    'compare-keys': () => sheets.compareKeys(host),
    'take-over': () => sheets.takeOver(host),
    'use-own-data': () => sheets.takeOver(host),
    'update-agent': () => sheets.upgrade([host]),
    undrain: () => void undrainHost(host),
    'open-clock': () => go({ page: 'clock', filter: `host:${host.name}` }),
    'open-networks': () => go({ page: 'host', id: host.id, tab: 'networks' }),
  }
  return (
    <Button size="small" look={move === 'try-now' ? 'plain' : 'primary'} onClick={acts[move]}>
      {MOVE_LABEL[move]}
    </Button>
  )
}
