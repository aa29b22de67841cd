import { useMemo, useState } from 'react'
import type { IssueCertificateResponse } from '../../../ipc/gen/eitri/fleet/v1/trust_pb.js'
import { problemsOf } from '../../../ipc/rules.ts'
import { api } from '../../api/transport.ts'
import { formatTime } from '../../lib/format.ts'
import { msOf } from '../../lib/timestamp.ts'
import { useVms } from '../../state/use-fleet.ts'
import { Button } from '../../ui/button.tsx'
import { CopyText } from '../../ui/copy-text.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { FaultNotice } from '../../ui/fault-notice.tsx'
import { TextArea, TextField } from '../../ui/field.tsx'
import { revoke } from './actions.ts'
import { FileButton } from './file-button.tsx'
import { trustChanged } from './queries.ts'
import { useSubmit } from './use-submit.ts'

/** Names offered while one is typed. */
const OFFERED = 200

export function IssueSheet({ onClose }: { onClose: () => void }) {
  const [draft, setDraft] = useState({ vm: '', publicKey: '', login: 'root' })
  const [issued, setIssued] = useState<IssueCertificateResponse>()
  const { fault, running, submit, forget } = useSubmit(() => undefined)
  const asked = { ...draft, publicKey: draft.publicKey.trim() }
  const problems = problemsOf('issueCertificate', asked)
  const of = (field: string) => problems.find((p) => p.field === field)?.problem
  const set = (change: Partial<typeof draft>) => {
    forget()
    setDraft((d) => ({ ...d, ...change }))
  }
  if (issued) return <IssuedSheet issued={issued} onClose={onClose} />
  return (
    <Dialog
      open
      wide
      onClose={onClose}
      title="Issue a certificate"
      description="Good for half an hour, for a key of yours. The private half never leaves your computer."
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            look="primary"
            disabled={problems.length > 0 || running}
            onClick={() =>
              submit(async () => {
                setIssued(await api.trust.issueCertificate(asked, { timeoutMs: 120_000 }))
                await trustChanged()
              })
            }
          >
            {running ? 'Signing…' : 'Issue'}
          </Button>
        </>
      }
    >
      <div className="grid gap-x-4 gap-y-2 sm:grid-cols-2">
        <div className="sm:col-span-2">
          <TextArea
            label="Public key to certify"
            rows={3}
            placeholder="ssh-ed25519 AAAA… you@laptop"
            value={draft.publicKey}
            problem={draft.publicKey === '' ? undefined : of('public_key')}
            hint="The text of a file such as id_ed25519.pub."
            onChange={(e) => set({ publicKey: e.target.value })}
          />
          <FileButton label="Pick a file…" onText={(publicKey) => set({ publicKey })} />
        </div>
        <VmField vm={draft.vm} problem={draft.vm === '' ? undefined : of('vm')} onVm={(vm) => set({ vm })} />
        <TextField
          label="Login in the guest"
          value={draft.login}
          problem={of('login')}
          onChange={(e) => set({ login: e.target.value })}
        />
        {fault && (
          <div className="sm:col-span-2">
            <FaultNotice fault={fault} />
          </div>
        )}
      </div>
    </Dialog>
  )
}

function VmField({ vm, problem, onVm }: { vm: string; problem: string | undefined; onVm: (vm: string) => void }) {
  const vms = useVms()
  const offered = useMemo(
    () =>
      vms
        .filter(({ name, deletedAt, unowned }) => !deletedAt && !unowned && name.includes(vm))
        .slice(0, OFFERED)
        .map(({ name }) => name)
        .sort(),
    [vms, vm],
  )
  return (
    <>
      <TextField
        label="For"
        list="issue-vms"
        value={vm}
        problem={problem}
        placeholder="every VM"
        hint="Empty: every VM that trusts the authority."
        onChange={(e) => onVm(e.target.value.trim())}
      />
      <datalist id="issue-vms">
        {offered.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </>
  )
}

function IssuedSheet({ issued, onClose }: { issued: IssueCertificateResponse; onClose: () => void }) {
  const until = msOf(issued.issued?.validBefore)
  return (
    <Dialog
      open
      wide
      onClose={onClose}
      title="The certificate is made"
      description={`Put it beside the key, as KEY-cert.pub.${until === undefined ? '' : ` It is good until ${formatTime(new Date(until), new Date())}.`}`}
      footer={
        <Button look="primary" onClick={onClose}>
          Done
        </Button>
      }
    >
      <div className="grid gap-3">
        {issued.clockDetail !== '' && (
          <p className="rounded-md border border-warn/40 bg-warn/6 px-3 py-2">{issued.clockDetail}</p>
        )}
        <CopyText text={issued.certificate} label="Copy the certificate" />
        {issued.sshName !== '' && (
          <div>
            <p className="mb-1 text-dim text-xs">
              What ssh calls the VM, and the line that makes it trust its host key
            </p>
            <CopyText text={[issued.sshName, ...issued.knownHosts].join('\n')} label="Copy both" />
          </div>
        )}
      </div>
    </Dialog>
  )
}

export function RevokeSheet({ serial, about, onClose }: { serial: string; about: string; onClose: () => void }) {
  const [which, setWhich] = useState('')
  const [reason, setReason] = useState('')
  const { fault, running, submit } = useSubmit(onClose)
  const typed = which.trim()
  const isNumber = /^\d+$/.test(typed)
  const asked = { serial: serial || (isNumber ? typed : ''), certificate: serial || isNumber ? '' : typed, reason }
  const problems = problemsOf('revokeCertificate', asked)
  const problem = problems.find(({ field }) => field !== 'reason')?.problem
  return (
    <Dialog
      open
      onClose={onClose}
      tone="danger"
      title={serial === '' ? 'Revoke a certificate' : `Revoke certificate ${serial}`}
      description={`${about === '' ? '' : `${about}. `}Guests refuse it once they hold the new list. Whoever is logged in stays so. It cannot be taken back.`}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="danger" disabled={problems.length > 0 || running} onClick={() => submit(() => revoke(asked))}>
            {running ? 'Revoking…' : 'Revoke'}
          </Button>
        </>
      }
    >
      <div className="grid gap-2">
        {serial === '' && (
          <TextArea
            label="Serial, or the certificate itself"
            rows={3}
            value={which}
            problem={typed === '' ? undefined : problem}
            onChange={(e) => setWhich(e.target.value)}
          />
        )}
        <TextField
          label="Reason"
          value={reason}
          problem={problems.find(({ field }) => field === 'reason')?.problem}
          hint="For whoever looks later; it is in the audit log."
          placeholder="laptop lost"
          onChange={(e) => setReason(e.target.value)}
        />
        {fault && <FaultNotice fault={fault} />}
      </div>
    </Dialog>
  )
}
