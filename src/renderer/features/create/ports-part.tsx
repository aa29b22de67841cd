import { Plus, X } from 'lucide-react'
import { Button, IconButton } from '../../ui/button.tsx'
import { inputClass } from '../../ui/field.tsx'
import { CreatePart } from './create-part.tsx'
import { type CreateVmDraft, EMPTY_WISH, type PortWish } from './create-vm-draft.ts'

interface PortsProps {
  draft: CreateVmDraft
  set: (change: Partial<CreateVmDraft>) => void
  problem: (field: string) => string | undefined
  /** Who reaches it while nothing is published. */
  reached: string
}

/** What is published once there is a VM. */
export function PortsPart({ draft, set, problem, reached }: PortsProps) {
  const { ports } = draft
  const change = (at: number, wish: Partial<PortWish>) =>
    set({ ports: ports.map((one, i) => (i === at ? { ...one, ...wish } : one)) })
  return (
    <CreatePart
      title="Ports to publish"
      aside={
        <Button size="small" onClick={() => set({ ports: [...ports, EMPTY_WISH] })}>
          <Plus size={13} aria-hidden />
          Add a port
        </Button>
      }
    >
      {ports.length === 0 && <p className="text-dim">{reached}</p>}
      <ul className="grid gap-1">
        {ports.map((wish, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a row is known by its place alone
          <li key={i}>
            <div className="flex flex-wrap items-center gap-2">
              <input
                aria-label={`Port of the host, row ${i + 1}`}
                inputMode="numeric"
                value={wish.hostPort}
                placeholder="next free"
                className={`${inputClass} h-8 max-w-28`}
                onChange={(e) => change(i, { hostPort: e.target.value.trim() })}
              />
              <span className="text-faint">on the host leads to</span>
              <input
                aria-label={`Port of the guest, row ${i + 1}`}
                inputMode="numeric"
                value={wish.guestPort}
                {...(problem(`ports.${i}`) ? { 'aria-invalid': true } : {})}
                placeholder="443"
                className={`${inputClass} h-8 max-w-24`}
                onChange={(e) => change(i, { guestPort: e.target.value.trim() })}
              />
              <select
                aria-label={`Protocol, row ${i + 1}`}
                value={wish.protocol}
                className={`${inputClass} h-8 max-w-20`}
                onChange={(e) => change(i, { protocol: e.target.value === 'udp' ? 'udp' : 'tcp' })}
              >
                <option value="tcp">tcp</option>
                <option value="udp">udp</option>
              </select>
              <IconButton
                label={`Remove port row ${i + 1}`}
                onClick={() => set({ ports: ports.filter((_, at) => at !== i) })}
              >
                <X size={14} aria-hidden />
              </IconButton>
            </div>
            {problem(`ports.${i}`) && (
              <p className="mt-0.5 text-bad text-xs first-letter:uppercase">{problem(`ports.${i}`)}</p>
            )}
          </li>
        ))}
      </ul>
      {problem('ports') && <p className="mt-1 text-bad text-xs first-letter:uppercase">{problem('ports')}</p>}
    </CreatePart>
  )
}
