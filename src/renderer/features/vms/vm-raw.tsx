import { RefreshCw } from 'lucide-react'
import { type ReactNode, useEffect, useState } from 'react'
import { fromConnectError } from '../../../ipc/fault-wire.ts'
import type { CommandPart, GetVmCommandResponse, Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { cx } from '../../lib/class-names.ts'
import { formatElapsed } from '../../lib/format.ts'
import { Button } from '../../ui/button.tsx'
import { CopyButton } from '../../ui/copy-text.tsx'
import { FaultNotice } from '../../ui/fault-notice.tsx'
import { Card } from '../../ui/page.tsx'
import { commandLineView, desiredSpec } from './command-view.ts'
import { useVmCommand } from './queries.ts'

/** What really runs: the exact command line of its hypervisor, and what this app wants of it. */
export function VmRaw({ vm }: { vm: Vm }) {
  const spec = JSON.stringify(desiredSpec(vm), null, 2)
  return (
    <div className="mx-auto grid max-w-5xl gap-4">
      <Command vm={vm} />
      <Card title="What is wanted of it" actions={<CopyButton text={spec} label="Copy as JSON" />}>
        <Code>{spec}</Code>
      </Card>
    </div>
  )
}

const Code = ({ children }: { children: string }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keys
  <pre tabIndex={0} className="overflow-x-auto font-mono text-xs leading-5">
    {children}
  </pre>
)

function Command({ vm }: { vm: Vm }) {
  const asked = !vm.hostUnknown && !vm.unowned
  const { data, error, isFetching, refetch } = useVmCommand(vm.id, asked)
  const again = asked && (
    <Button size="small" look="quiet" disabled={isFetching} onClick={() => void refetch()}>
      <RefreshCw size={13} aria-hidden />
      Ask again
    </Button>
  )
  return (
    <Card title="Command line of its hypervisor" actions={again}>
      {vm.unowned ? (
        <p className="text-dim">It is not in this fleet: its command line can be read once it is adopted.</p>
      ) : vm.hostUnknown ? (
        <p className="text-dim">
          {vm.hostName} does not answer. Its agent alone knows the command line; nothing of it is kept here.
        </p>
      ) : isFetching && !data ? (
        <Asking host={vm.hostName} />
      ) : error ? (
        <FaultNotice fault={fromConnectError(error).toData()} tone="warn" />
      ) : null}
      {asked && data && !error && <Answer answer={data} />}
    </Card>
  )
}

/** Which step is waited for, and for how long by now. */
function Asking({ host }: { host: string }) {
  const [startedAt] = useState(() => performance.now())
  const [, tick] = useState(0)
  useEffect(() => {
    const timer = setInterval(() => tick((n) => n + 1), 500)
    return () => clearInterval(timer)
  }, [])
  return (
    <p role="status" className="text-dim">
      Asking the agent of {host} for its command line… {formatElapsed(performance.now() - startedAt)}
    </p>
  )
}

function Answer({ answer }: { answer: GetVmCommandResponse }) {
  const view = commandLineView(answer)
  return (
    <div className="grid gap-3">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-1">
        <span className="font-medium">{view.what}</span>
        <span className="min-w-0 break-all text-dim">
          in <code className="font-mono text-xs">{answer.cwd || 'a directory it did not name'}</code>
        </span>
      </div>
      {view.unknown.map((sentence) => (
        <p key={sentence} className="text-warn">
          {sentence}
        </p>
      ))}
      {view.lines.map(({ of, label, text }) => (
        <Line key={of} label={label} text={text} />
      ))}
      <Parts parts={view.parts} marked={view.differs} />
    </div>
  )
}

const Line = ({ label, text }: { label: string; text: string }): ReactNode => (
  <div className="rounded-md border border-line bg-bg">
    <div className="flex h-8 items-center justify-between border-line border-b pr-1 pl-3">
      <span className="text-dim text-xs">{label}, for a shell</span>
      <CopyButton text={text} label={`Copy the command line: ${label.toLowerCase()}`} />
    </div>
    {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keys */}
    <code tabIndex={0} className="block max-h-24 overflow-y-auto break-all px-3 py-2 font-mono text-xs leading-5">
      {text}
    </code>
  </div>
)

const WHERE: Record<string, { word: string; look: string }> = {
  running: { word: 'runs, not at its next start', look: 'text-warn' },
  next: { word: 'from its next start', look: 'text-info' },
}

/** Each part with what it is for; those that are not the same at the next start are marked. */
function Parts({ parts, marked }: { parts: readonly CommandPart[]; marked: boolean }) {
  return (
    <table aria-label="Parts of the command line" className="w-full border-separate border-spacing-0">
      <thead>
        <tr className="text-left text-faint text-xs">
          <th scope="col" className="h-7 w-3/5 border-line border-b pr-4 font-medium">
            Part
          </th>
          <th scope="col" className="border-line border-b font-medium">
            What for
          </th>
        </tr>
      </thead>
      <tbody>
        {parts.map(({ args, why, where }, i) => {
          const mark = marked ? WHERE[where] : undefined
          return (
            // biome-ignore lint/suspicious/noArrayIndexKey: parts have an order and no name, and the same may stand twice
            <tr key={`${i} ${where}`} className="align-top">
              <td className="break-all border-line border-b py-1.5 pr-4 font-mono text-xs leading-5">
                {args.join(' ')}
              </td>
              <td className="border-line border-b py-1.5 text-dim">
                {why}
                {mark && <span className={cx('block text-xs', mark.look)}>{mark.word}</span>}
              </td>
            </tr>
          )
        })}
      </tbody>
    </table>
  )
}
