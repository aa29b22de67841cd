import { Check, Copy } from 'lucide-react'
import { Button } from '../../ui/button.tsx'
import { useCopied } from '../../ui/copy-text.tsx'
import { PoolBar } from '../fleet/pool-bar.tsx'
import type { CreateStep } from './create-steps.ts'
import { GuestPreview, PreviewPart } from './guest-preview.tsx'
import type { GuestText } from './guest-text.ts'
import type { Picked, whatStays } from './placement.ts'

interface PreviewProps {
  steps: readonly CreateStep[]
  guest: GuestText | undefined
  fleet: readonly string[]
  picked: Picked | undefined
  stays: ReturnType<typeof whatStays>
  /** One line, to be read. */
  cli: string
  /** All of it, to be run. */
  script: string
}

/** What creating will do, what the guest will see, and what stays of the host. */
export function CreatePreview({ steps, guest, fleet, picked, stays, cli, script }: PreviewProps) {
  return (
    <aside aria-label="Preview" className="h-fit min-w-0 rounded-lg border border-line bg-panel p-4 lg:sticky lg:top-0">
      <PreviewPart title="Will do, in order">
        <ol className="grid gap-1.5">
          {steps.map(({ text, time }, i) => (
            <li key={text} className="flex gap-2.5">
              <span aria-hidden className="w-3 shrink-0 text-right text-faint">
                {i + 1}
              </span>
              <span className="min-w-0 break-words">
                {text}
                {time && <span className="block text-faint text-xs">{time}</span>}
              </span>
            </li>
          ))}
        </ol>
      </PreviewPart>
      <GuestPreview guest={guest} fleet={fleet} />
      {picked && (
        <PreviewPart title={`${picked.place.host.name} with this VM`}>
          <div className="grid gap-3">
            {stays.map((pool) => (
              <PoolBar key={pool.what} pool={pool} />
            ))}
          </div>
          {stays.length === 0 && <p className="text-dim">It has not told what it has.</p>}
          <p className="mt-2 text-faint text-xs">
            Promised counts this VM too, and VMs that are stopped; in use is measured now. Guests share processors.
          </p>
        </PreviewPart>
      )}
      <PreviewPart title="The same on the command line">
        <code className="block max-h-40 overflow-y-auto break-words rounded-md border border-line bg-bg px-3 py-2 font-mono text-xs leading-5">
          {cli.split(/ (?=--)/).map((part, i) => (
            <span key={part} className={`block ${i > 0 ? 'pl-4' : ''}`}>
              {part}
            </span>
          ))}
        </code>
        <CopyCli script={script} />
      </PreviewPart>
    </aside>
  )
}

function CopyCli({ script }: { script: string }) {
  const [copied, copy] = useCopied()
  return (
    <Button size="small" className="mt-2" onClick={() => copy(script)} title="With the files it needs, and the ports">
      {copied ? <Check size={13} aria-hidden /> : <Copy size={13} aria-hidden />}
      {copied ? 'Copied' : 'Copy as CLI'}
    </Button>
  )
}
