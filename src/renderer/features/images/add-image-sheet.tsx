import { useState } from 'react'
import { fromConnectError } from '../../../ipc/fault-wire.ts'
import type { FaultData } from '../../../ipc/faults.ts'
import { problemsOf } from '../../../ipc/rules.ts'
import { api } from '../../api/transport.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { FaultNotice } from '../../ui/fault-notice.tsx'
import { CheckField, SelectField, TextField } from '../../ui/field.tsx'
import { toastDone } from '../../ui/toasts.tsx'

const EMPTY = { name: '', url: '', sha256: '', arch: 'x86_64', kind: 'disk' }

export function AddImageSheet({ taken, onClose }: { taken: ReadonlySet<string>; onClose: () => void }) {
  const [draft, setDraft] = useState(EMPTY)
  const [makeDefault, setMakeDefault] = useState(false)
  const [fault, setFault] = useState<FaultData>()
  const set = (change: Partial<typeof EMPTY>) => setDraft((d) => ({ ...d, ...change }))
  const problems = problemsOf('addImage', draft)
  if (taken.has(draft.name)) problems.push({ field: 'name', problem: 'an image of this name is already here' })
  const problem = (field: keyof typeof EMPTY) =>
    draft[field] === '' ? undefined : problems.find((p) => p.field === field)?.problem
  const submit = async () => {
    if (problems.length > 0) return
    try {
      await api.images.addImage({ ...draft, makeDefault })
      toastDone(`Added ${draft.name}`)
      onClose()
    } catch (error) {
      setFault(fromConnectError(error).toData())
    }
  }
  return (
    <Dialog
      open
      wide
      onClose={onClose}
      title="Add an image"
      description="A host fetches it when a VM needs it, and checks every byte against the SHA-256 you give."
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" disabled={problems.length > 0} onClick={() => void submit()}>
            Add image
          </Button>
        </>
      }
    >
      <form
        className="grid gap-x-4 gap-y-2 sm:grid-cols-3"
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
            label="URL"
            value={draft.url}
            problem={problem('url')}
            placeholder="https://…/image.qcow2"
            onChange={(e) => set({ url: e.target.value })}
          />
        </div>
        <div className="sm:col-span-3">
          <TextField
            label="SHA-256"
            value={draft.sha256}
            problem={problem('sha256')}
            className="font-mono"
            onChange={(e) => set({ sha256: e.target.value.trim() })}
          />
        </div>
        <div className="sm:col-span-3">
          <CheckField
            label="Use it for new VMs unless another is named"
            checked={makeDefault}
            onChange={(e) => setMakeDefault(e.target.checked)}
          />
        </div>
        {fault && (
          <div className="sm:col-span-3">
            <FaultNotice fault={fault} />
          </div>
        )}
        <button type="submit" hidden />
      </form>
    </Dialog>
  )
}
