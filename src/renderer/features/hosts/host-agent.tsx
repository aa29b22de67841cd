import type { ReactNode } from 'react'
import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import { cx } from '../../lib/class-names.ts'
import { formatDuration, formatMemoryBytes, formatTime, plural, shortId } from '../../lib/format.ts'
import { msOf } from '../../lib/timestamp.ts'
import { useNow } from '../../state/now.ts'
import { Button } from '../../ui/button.tsx'
import { CopyButton, CopyText } from '../../ui/copy-text.tsx'
import { Card, Facts } from '../../ui/page.tsx'
import { agentCommands } from './agent-commands.ts'
import { useHostSheets } from './host-sheets.tsx'
import { outcomeWords } from './upgrade-plan.ts'
import { asOf, isCurrent } from './view-model.ts'

const missing = <span className="text-faint">not reported</span>

/** The one program of this app on the host: which it is, what it takes, how it is replaced and taken away. */
export function HostAgent({ host }: { host: Host }) {
  const now = useNow()
  const age = asOf(host, now)
  return (
    <>
      <Version host={host} now={now} />
      <div className={cx('grid gap-4 lg:grid-cols-2', !isCurrent(host) && 'text-faint')}>
        <Runs host={host} age={age} />
        <Says host={host} />
      </div>
      <Look host={host} />
      <End host={host} />
    </>
  )
}

const TONE = { good: 'text-good', warn: 'text-warn', bad: 'text-bad', busy: 'text-info' }

function Version({ host, now }: { host: Host; now: number }) {
  const sheets = useHostSheets()
  const outcome = outcomeWords(host)
  const at = msOf(host.upgradeOutcome?.at)
  const pending = host.pendingUpgrade
  const rows: [string, ReactNode][] = [
    ['Version', host.agentVersion || 'not told yet'],
    [
      'This app brings',
      host.upgradeAvailable === '' ? (
        'the same one'
      ) : (
        <span key="update" className="flex flex-wrap items-center gap-3">
          <span className="text-warn">{host.upgradeAvailable}</span>
          <Button
            size="small"
            look="primary"
            disabled={host.link !== 'connected' || pending !== undefined}
            title={host.link === 'connected' ? 'VMs run on meanwhile' : `${host.name} does not answer`}
            onClick={() => sheets.upgrade([host])}
          >
            Update agent…
          </Button>
        </span>
      ),
    ],
    ...(pending
      ? ([
          [
            'Being updated',
            `to ${pending.version}, offered ${formatDuration(Number(pending.ageS) * 1000)} ago; waiting for it to answer`,
          ],
        ] satisfies [string, string][])
      : []),
    ...(outcome
      ? ([
          [
            'Last update',
            <span key="outcome" className={TONE[outcome.tone]}>
              {outcome.text}
              {at !== undefined && <span className="text-faint"> · {formatTime(new Date(at), new Date(now))}</span>}
            </span>,
          ],
        ] satisfies [string, ReactNode][])
      : []),
  ]
  return (
    <Card title="Version">
      <Facts rows={rows} />
    </Card>
  )
}

function Runs({ host, age }: { host: Host; age: string }) {
  const { agentRssBytes: rss, agentPssBytes: pss, agentFds: fds } = host.metrics ?? {}
  const memory = [
    rss === undefined ? '' : formatMemoryBytes(rss),
    pss === undefined ? '' : `${formatMemoryBytes(pss)} of its own`,
  ]
  return (
    <Card title={age === '' ? 'As it runs' : `As it runs ${age}`}>
      <Facts
        rows={[
          ['Runs as', host.runsAs || missing],
          ['Started by', startedWords(host)],
          ['Memory', memory.filter(Boolean).join(', ') || missing],
          ['Open files', fds === undefined ? missing : plural(fds, 'file descriptor')],
          ['Epoch', epochWords(host)],
          [
            'Boot id',
            host.bootId === '' ? (
              missing
            ) : (
              <span key="boot" className="flex items-center gap-1">
                <code className="font-mono text-xs">{shortId(host.bootId)}</code>
                <CopyButton text={host.bootId} label="Copy the boot id" />
              </span>
            ),
          ],
        ]}
      />
    </Card>
  )
}

const startedWords = ({ startedBy }: Host): ReactNode =>
  startedBy === '' ? missing : startedBy === 'app' ? 'this app: nothing else starts it after a reboot' : startedBy

function epochWords({ epoch, reportedEpoch }: Host): string {
  if (reportedEpoch === undefined || reportedEpoch >= epoch) return String(epoch)
  return `${epoch}, it has followed ${reportedEpoch} so far`
}

function Says({ host }: { host: Host }) {
  return (
    <Card title="What it says about itself">
      {host.notices.length === 0 ? (
        <p className="text-faint">Nothing to remark.</p>
      ) : (
        <ul className="grid list-disc gap-1.5 pl-4">
          {host.notices.map((notice) => (
            <li key={notice}>{notice}</li>
          ))}
        </ul>
      )}
    </Card>
  )
}

function Look({ host }: { host: Host }) {
  const { log, doctor } = agentCommands(host)
  return (
    <Card title="Look closer, in a shell on the host">
      <div className="grid gap-3">
        <div>
          <p className="mb-1 text-dim">Its log</p>
          <CopyText text={log} label="Copy the command" />
        </div>
        <div>
          <p className="mb-1 text-dim">What it finds wrong with the host and with itself</p>
          <CopyText text={doctor} label="Copy the command" />
        </div>
      </div>
    </Card>
  )
}

function End({ host }: { host: Host }) {
  const sheets = useHostSheets()
  return (
    <Card title="Take it away">
      <div className="flex flex-wrap items-center justify-between gap-3">
        <p className="max-w-prose text-dim">
          Forgets the host, and takes the agent off it when you say so. Adding it again finds what it left there.
        </p>
        <span className="flex gap-2">
          {host.credential === 'key' && <Button onClick={() => sheets.revoke(host)}>Revoke credential…</Button>}
          <Button onClick={() => sheets.remove(host)}>Remove host…</Button>
        </span>
      </div>
    </Card>
  )
}
