import { ArrowRight } from 'lucide-react'
import { useState } from 'react'
import { CLOCK_POLICIES } from '../../../ipc/clock-policy.ts'
import { policyWords } from '../../../ipc/clock-words.ts'
import { fromConnectError } from '../../../ipc/fault-wire.ts'
import type { FaultData } from '../../../ipc/faults.ts'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { useHost, useVm } from '../../state/use-fleet.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { FaultNotice } from '../../ui/fault-notice.tsx'
import { CheckField, SelectField, TextField } from '../../ui/field.tsx'
import { applyEdit } from './actions.ts'
import { draftOf, type EditChange, type EditDraft, editChanges, editProblems, editRequest } from './edit-draft.ts'
import { vmActions } from './view-model.ts'

interface EditSheetProps {
  vm: Vm
  onClose: () => void
  isTaken: (name: string) => boolean
}

/** All that can be changed of a VM, with what it was, what it will be and what waits for a restart. */
export function EditSheet({ vm: opened, onClose, isTaken }: EditSheetProps) {
  const vm = useVm(opened.id) ?? opened
  const host = useHost(vm.hostId)
  const [draft, setDraft] = useState(() => draftOf(opened))
  const [fault, setFault] = useState<FaultData>()
  const [sending, setSending] = useState(false)
  const problems = editProblems(vm, draft, isTaken)
  const changes = problems.length === 0 ? editChanges(vm, draft, host) : []
  const mayRestart = changes.some(({ atRestart }) => atRestart) && vmActions(vm).restart
  const blocked = problems.length > 0 || changes.length === 0 || sending
  const apply = async (restart: boolean) => {
    setSending(true)
    setFault(undefined)
    try {
      await applyEdit(vm, editRequest(vm, draft), restart)
      onClose()
    } catch (error) {
      setFault(fromConnectError(error).toData())
      setSending(false)
    }
  }
  return (
    <Dialog
      open
      wide
      onClose={onClose}
      title={`Edit ${vm.name}`}
      description={
        vm.hostUnknown
          ? `${vm.hostName} does not answer: changes wait and reach it when it is back.`
          : `On ${vm.hostName}`
      }
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          {mayRestart && (
            <Button disabled={blocked} onClick={() => void apply(true)}>
              Apply and restart
            </Button>
          )}
          <Button look="primary" disabled={blocked} onClick={() => void apply(false)}>
            Apply
          </Button>
        </>
      }
    >
      <EditFields
        draft={draft}
        set={(change) => setDraft((d) => ({ ...d, ...change }))}
        problem={(field) => problems.find((p) => p.field === field)?.problem}
        vm={vm}
      />
      {fault && <FaultNotice fault={fault} />}
      <Changes changes={changes} wrong={problems.length > 0} />
    </Dialog>
  )
}

interface EditFieldsProps {
  draft: EditDraft
  set: (change: Partial<EditDraft>) => void
  problem: (field: string) => string | undefined
  vm: Vm
}

function EditFields({ draft, set, problem, vm }: EditFieldsProps) {
  const text = (field: 'name' | 'vcpus' | 'memMb' | 'diskGb' | 'labels' | 'autostartDelayS' | 'autostartOrder') => ({
    value: draft[field],
    problem: problem(field.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`)),
    onChange: (e: { target: { value: string } }) => set({ [field]: e.target.value }),
  })
  const policies = CLOCK_POLICIES.some((policy) => policy === draft.clockPolicy)
    ? CLOCK_POLICIES
    : [...CLOCK_POLICIES, draft.clockPolicy]
  return (
    <div className="grid gap-x-4 gap-y-1 sm:grid-cols-6">
      <div className="sm:col-span-3">
        <TextField label="Name" {...text('name')} />
      </div>
      <div className="sm:col-span-3">
        <TextField
          label="Labels"
          placeholder="app=shop, prod"
          hint="With commas: key=value, or a key alone"
          {...text('labels')}
        />
      </div>
      <div className="sm:col-span-2">
        <TextField label="vCPUs" inputMode="numeric" {...text('vcpus')} />
      </div>
      <div className="sm:col-span-2">
        <TextField label="Memory (MB)" inputMode="numeric" {...text('memMb')} />
      </div>
      <div className="sm:col-span-2">
        <TextField
          label="Disk (GB)"
          inputMode="numeric"
          hint={`At least ${vm.diskGb}: a disk only grows`}
          {...text('diskGb')}
        />
      </div>
      <div className="pt-5 sm:col-span-2">
        <CheckField
          label="Start with its host"
          checked={draft.autostart}
          onChange={(e) => set({ autostart: e.target.checked })}
        />
      </div>
      <div className="sm:col-span-2">
        <TextField
          label="Start after (s)"
          inputMode="numeric"
          disabled={!draft.autostart}
          hint="Since its host booted"
          {...text('autostartDelayS')}
        />
      </div>
      <div className="sm:col-span-2">
        <TextField
          label="Place in the order"
          inputMode="numeric"
          disabled={!draft.autostart}
          hint="Lower numbers start first"
          {...text('autostartOrder')}
        />
      </div>
      <div className="sm:col-span-4">
        <SelectField
          label="Clock policy"
          value={draft.clockPolicy}
          problem={problem('clock_policy')}
          hint={policyWords(draft.clockPolicy)}
          onChange={(e) => set({ clockPolicy: e.target.value })}
        >
          {policies.map((policy) => (
            <option key={policy} value={policy}>
              {policy}
            </option>
          ))}
        </SelectField>
      </div>
      <div className="pt-5 sm:col-span-2">
        <CheckField
          label="Protected"
          hint="No delete, no stop by force"
          checked={draft.protected}
          onChange={(e) => set({ protected: e.target.checked })}
        />
      </div>
    </div>
  )
}

function Changes({ changes, wrong }: { changes: EditChange[]; wrong: boolean }) {
  return (
    <section aria-label="What will change" className="mt-4 rounded-md border border-line bg-bg px-3 py-2">
      {changes.length === 0 ? (
        <p className="text-faint">{wrong ? 'Mend what is marked first.' : 'Nothing is changed yet.'}</p>
      ) : (
        <ul className="grid gap-1">
          {changes.map(({ label, before, after, atRestart, note }) => (
            <li key={label} className="grid gap-x-3 sm:grid-cols-[9rem_1fr]">
              <span className="text-faint">{label}</span>
              <span className="min-w-0">
                <span className="inline-flex flex-wrap items-center gap-x-1.5">
                  <span className="text-dim line-through decoration-line-strong">{before}</span>
                  <ArrowRight size={13} aria-label="becomes" className="shrink-0 text-faint" />
                  <span className="font-medium">{after}</span>
                </span>
                {atRestart && <span className="ml-2 text-warn">at its next start</span>}
                {note && <span className="block text-faint text-xs">{note}</span>}
              </span>
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}
