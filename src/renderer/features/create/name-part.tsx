import { Check } from 'lucide-react'
import { TextField } from '../../ui/field.tsx'
import { labelText, parseLabels } from '../vms/labels-text.ts'
import { CreatePart } from './create-part.tsx'
import type { CreateVmDraft } from './create-vm-draft.ts'

interface NameProps {
  draft: CreateVmDraft
  set: (change: Partial<CreateVmDraft>) => void
  problem: (field: string) => string | undefined
}

export function NamePart({ draft, set, problem }: NameProps) {
  const labels = Object.entries(parseLabels(draft.labels))
  const free = draft.name !== '' && !problem('name')
  return (
    <CreatePart number={3} title="Name and labels">
      <div className="grid gap-x-4 gap-y-1 sm:grid-cols-2">
        <TextField
          label="Name"
          value={draft.name}
          problem={problem('name') && (draft.name === '' ? 'name it' : problem('name'))}
          hint={
            free && (
              <span className="inline-flex items-center gap-1 text-good">
                <Check size={12} aria-hidden />
                Free
              </span>
            )
          }
          onChange={(e) => set({ name: e.target.value })}
          onFocus={(e) => e.target.select()}
        />
        <TextField
          label="Labels"
          value={draft.labels}
          placeholder="app=shop, prod"
          problem={problem('labels')}
          hint={
            labels.length > 0 && (
              <span className="flex flex-wrap gap-1">
                {labels.map((label) => (
                  <span key={label[0]} className="rounded-full border border-line px-1.5">
                    {labelText(label)}
                  </span>
                ))}
              </span>
            )
          }
          onChange={(e) => set({ labels: e.target.value })}
        />
      </div>
    </CreatePart>
  )
}
