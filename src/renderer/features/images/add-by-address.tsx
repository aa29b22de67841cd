import { useState } from 'react'
import { fromConnectError } from '../../../ipc/fault-wire.ts'
import type { FaultData } from '../../../ipc/faults.ts'
import { problemsOf } from '../../../ipc/rules.ts'
import { api } from '../../api/transport.ts'
import { Button } from '../../ui/button.tsx'
import { FaultNotice } from '../../ui/fault-notice.tsx'
import { CheckField, SelectField, TextField } from '../../ui/field.tsx'
import { toastDone } from '../../ui/toasts.tsx'

const EMPTY = { name: '', url: '', sha256: '', arch: 'x86_64', kind: 'disk' }

/** An image hosts fetch by themselves. */
export function AddByAddress({ taken, onDone }: { taken: ReadonlySet<string>; onDone: () => void }) {
  const [draft, setDraft] = useState(EMPTY)
  const [makeDefault, setMakeDefault] = useState(false)
  const [fault, setFault] = useState<FaultData>()
  const [sending, setSending] = useState(false)
  const set = (change: Partial<typeof EMPTY>) => setDraft((d) => ({ ...d, ...change }))
  const problems = problemsOf('addImage', draft)
  if (taken.has(draft.name)) problems.push({ field: 'name', problem: 'an image of this name is already here' })
  const problem = (field: keyof typeof EMPTY) =>
    draft[field] === '' ? undefined : problems.find((p) => p.field === field)?.problem
  const plain = draft.url.startsWith('http:') && !problem('url')
  const submit = async () => {
    if (problems.length > 0 || sending) return
    setSending(true)
    try {
      await api.images.addImage({ ...draft, makeDefault })
      toastDone(`Added ${draft.name}`)
      onDone()
    } catch (error) {
      setFault(fromConnectError(error).toData())
    } finally {
      setSending(false)
    }
  }
  return (
    <form
      className="grid gap-x-4 gap-y-2 pb-4 sm:grid-cols-3"
      onSubmit={(e) => {
        e.preventDefault()
        void submit()
      }}
    >
      <TextField
        label="Name"
        value={draft.name}
        problem={problem('name')}
        placeholder="debian-12"
        onChange={(e) => set({ name: e.target.value })}
      />
      <SelectField label="Kind" value={draft.kind} onChange={(e) => set({ kind: e.target.value })}>
        <option value="disk">disk (qcow2 or raw)</option>
        <option value="kernel">kernel (tar of kernel and initrd)</option>
      </SelectField>
      <SelectField label="Architecture" value={draft.arch} onChange={(e) => set({ arch: e.target.value })}>
        <option value="x86_64">x86_64</option>
        <option value="aarch64">aarch64</option>
      </SelectField>
      <div className="sm:col-span-3">
        <TextField
          label="Address"
          value={draft.url}
          problem={problem('url')}
          placeholder="https://…/image.qcow2"
          hint={
            plain ? 'Without TLS anybody on the way can see it; the SHA-256 alone says it is the right one.' : undefined
          }
          onChange={(e) => set({ url: e.target.value.trim() })}
        />
      </div>
      <div className="sm:col-span-3">
        <TextField
          label="SHA-256"
          value={draft.sha256}
          problem={problem('sha256')}
          className="font-mono"
          onChange={(e) => set({ sha256: e.target.value.trim().toLowerCase() })}
        />
      </div>
      <div className="sm:col-span-2">
        <CheckField
          label="Use it for new VMs unless another is named"
          checked={makeDefault}
          onChange={(e) => setMakeDefault(e.target.checked)}
        />
      </div>
      <div className="flex justify-end">
        <Button type="submit" look="primary" disabled={problems.length > 0 || sending}>
          {sending ? 'Adding…' : 'Add image'}
        </Button>
      </div>
      {fault && (
        <div className="sm:col-span-3">
          <FaultNotice fault={fault} />
        </div>
      )}
    </form>
  )
}
