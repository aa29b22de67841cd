import { useState } from 'react'
import { fromConnectError } from '../../../ipc/fault-wire.ts'
import type { FaultData } from '../../../ipc/faults.ts'
import { problemsOf } from '../../../ipc/rules.ts'
import { api } from '../../api/transport.ts'
import { Button } from '../../ui/button.tsx'
import { FaultNotice } from '../../ui/fault-notice.tsx'
import { SelectField, TextField } from '../../ui/field.tsx'

const EMPTY = { name: '', path: '', arch: 'x86_64' }

/** A disk file of the computer the control plane runs on. */
export function AddFromFile({ taken, onDone }: { taken: ReadonlySet<string>; onDone: () => void }) {
  const [draft, setDraft] = useState(EMPTY)
  const [fault, setFault] = useState<FaultData>()
  const set = (change: Partial<typeof EMPTY>) => setDraft((d) => ({ ...d, ...change }))
  const problems = problemsOf('importImage', draft)
  if (taken.has(draft.name)) problems.push({ field: 'name', problem: 'an image of this name is already here' })
  if (draft.path !== '' && !/^(?:\/|[A-Za-z]:\\)/.test(draft.path))
    problems.push({ field: 'path', problem: 'use the whole path, from / on' })
  const problem = (field: keyof typeof EMPTY) =>
    draft[field] === '' ? undefined : problems.find((p) => p.field === field)?.problem
  const submit = async () => {
    if (problems.length > 0) return
    try {
      await api.images.importImage(draft)
      onDone()
    } catch (error) {
      setFault(fromConnectError(error).toData())
    }
  }
  return (
    <form
      className="grid gap-x-4 gap-y-2 pb-4 sm:grid-cols-2"
      onSubmit={(e) => {
        e.preventDefault()
        void submit()
      }}
    >
      <TextField
        label="Name"
        value={draft.name}
        problem={problem('name')}
        placeholder="appliance"
        onChange={(e) => set({ name: e.target.value })}
      />
      <SelectField label="Architecture" value={draft.arch} onChange={(e) => set({ arch: e.target.value })}>
        <option value="x86_64">x86_64</option>
        <option value="aarch64">aarch64</option>
      </SelectField>
      <div className="sm:col-span-2">
        <TextField
          label="File"
          value={draft.path}
          problem={problem('path')}
          placeholder="/home/you/Downloads/appliance.ova"
          hint="Read, never changed. What it is is found out from its bytes."
          className="font-mono text-xs"
          onChange={(e) => set({ path: e.target.value })}
        />
      </div>
      <div className="flex justify-end sm:col-span-2">
        <Button type="submit" look="primary" disabled={problems.length > 0}>
          Import
        </Button>
      </div>
      {fault && (
        <div className="sm:col-span-2">
          <FaultNotice fault={fault} />
        </div>
      )}
    </form>
  )
}
