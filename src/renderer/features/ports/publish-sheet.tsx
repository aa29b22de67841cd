import { useState } from 'react'
import { fromConnectError } from '../../../ipc/fault-wire.ts'
import type { FaultData } from '../../../ipc/faults.ts'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { RESERVED_PORTS } from '../../../ipc/units.ts'
import { api } from '../../api/transport.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { FaultNotice } from '../../ui/fault-notice.tsx'
import { SelectField, TextField } from '../../ui/field.tsx'
import { toastDone } from '../../ui/toasts.tsx'
import { EMPTY_PORT, leadsTo, type PortDraft, portProblems, publishedAt, requestOf } from './view-model.ts'

interface PublishProps {
  /** Those it may be for. */
  vms: readonly Vm[]
  /** There is nothing to choose. */
  one: boolean
  chosen: string
  onClose: () => void
}

export function PublishSheet({ vms, one, chosen, onClose }: PublishProps) {
  const [draft, setDraft] = useState<PortDraft>({ ...EMPTY_PORT, vm: chosen || (vms[0]?.id ?? '') })
  const [fault, setFault] = useState<FaultData>()
  const [sending, setSending] = useState(false)
  const set = (change: Partial<PortDraft>) => {
    setFault(undefined)
    setDraft((d) => ({ ...d, ...change }))
  }
  const problems = portProblems(draft)
  const vm = vms.find(({ id }) => id === draft.vm)
  const submit = async (asked: PortDraft) => {
    if (!vm || sending || !portProblems(asked).ready) return
    setSending(true)
    try {
      const { port } = await api.ports.publishPort(requestOf(asked))
      if (port) toastDone(`${publishedAt(port)} leads to ${leadsTo(port)}`)
      onClose()
    } catch (error) {
      setFault(fromConnectError(error).toData())
    } finally {
      setSending(false)
    }
  }
  return (
    <Dialog
      open
      wide
      onClose={onClose}
      title={one && vm ? `Publish a port of ${vm.name}` : 'Publish a port'}
      description={`${vm ? vm.hostName : 'The host'} listens, and leads every connection to the guest.`}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" disabled={!vm || sending || !problems.ready} onClick={() => void submit(draft)}>
            {sending ? 'Publishing…' : 'Publish'}
          </Button>
        </>
      }
    >
      <form
        className="grid gap-x-4 gap-y-2 sm:grid-cols-2"
        onSubmit={(e) => {
          e.preventDefault()
          void submit(draft)
        }}
      >
        {!one && (
          <div className="sm:col-span-2">
            <VmChooser vms={vms} vm={vm} onVm={(id) => set({ vm: id })} />
          </div>
        )}
        <TextField
          label="Port in the guest"
          inputMode="numeric"
          value={draft.guestPort}
          problem={problems.guestPort}
          placeholder="443"
          autoFocus
          onChange={(e) => set({ guestPort: e.target.value.trim() })}
        />
        <SelectField label="Protocol" value={draft.protocol} onChange={(e) => set({ protocol: e.target.value })}>
          <option value="tcp">TCP</option>
          <option value="udp">UDP</option>
        </SelectField>
        <TextField
          label="Port on the host"
          inputMode="numeric"
          value={draft.hostPort}
          problem={problems.hostPort}
          placeholder="chosen for you"
          hint={`Empty: the first free one from ${RESERVED_PORTS.first} to ${RESERVED_PORTS.last}.`}
          onChange={(e) => set({ hostPort: e.target.value.trim() })}
        />
        <SelectField label="Open to" value={draft.scope} onChange={(e) => set({ scope: e.target.value })}>
          <option value="lan">everybody who reaches the host</option>
          <option value="loopback">programs on the host only</option>
        </SelectField>
        {fault && (
          <div className="sm:col-span-2">
            <FaultNotice
              fault={fault}
              actions={
                <UseFree
                  fault={fault}
                  onUse={(hostPort) => {
                    const other = { ...draft, hostPort }
                    set({ hostPort })
                    void submit(other)
                  }}
                />
              }
            />
          </div>
        )}
        <button type="submit" hidden />
      </form>
    </Dialog>
  )
}

/** Names offered while one is typed: a fleet may have thousands. */
const OFFERED = 100

function VmChooser({ vms, vm, onVm }: { vms: readonly Vm[]; vm: Vm | undefined; onVm: (id: string) => void }) {
  const [typed, setTyped] = useState(vm?.name ?? '')
  const offered = vms.filter(({ name }) => name.includes(typed)).slice(0, OFFERED)
  return (
    <>
      <TextField
        label="VM"
        list="publish-vms"
        value={typed}
        problem={vm || typed === '' ? undefined : `there is no VM ${typed} now; choose another`}
        hint={vm ? `on ${vm.hostName}` : 'Type its name.'}
        onChange={(e) => {
          const name = e.target.value.trim()
          setTyped(name)
          onVm(vms.find((one) => one.name === name)?.id ?? '')
        }}
      />
      <datalist id="publish-vms">
        {offered.map(({ id, name, hostName }) => (
          <option key={id} value={name}>
            on {hostName}
          </option>
        ))}
      </datalist>
    </>
  )
}

function UseFree({ fault, onUse }: { fault: FaultData; onUse: (hostPort: string) => void }) {
  const free = fault.code === 'port/taken' ? fault.params['free'] : undefined
  if (!free || !/^\d+$/.test(free)) return null
  return (
    <Button size="small" onClick={() => onUse(free)}>
      Use {free}
    </Button>
  )
}
