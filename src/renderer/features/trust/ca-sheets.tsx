import { useState } from 'react'
import { problemsOf } from '../../../ipc/rules.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { FaultNotice } from '../../ui/fault-notice.tsx'
import { CheckField, SelectField, TextArea, TextField } from '../../ui/field.tsx'
import { createCa, importCa } from './actions.ts'
import { FileButton } from './file-button.tsx'
import { useSubmit } from './use-submit.ts'
import type { CaKind } from './view-model.ts'

interface SheetProps {
  kind: CaKind
  onClose: () => void
}

const KEYCHAIN_NOTE = 'The private key goes into the keychain of this computer, or into a file of this app.'

export function CreateCaSheet({ kind: first, onClose }: SheetProps) {
  const [draft, setDraft] = useState({ kind: first, name: '', makeSigning: false })
  const { fault, running, submit, forget } = useSubmit(onClose)
  const problems = problemsOf('createCa', { ...draft, ifAbsent: false })
  const set = (change: Partial<typeof draft>) => {
    forget()
    setDraft((d) => ({ ...d, ...change }))
  }
  const create = () => problems.length === 0 && submit(() => createCa(draft))
  return (
    <Dialog
      open
      onClose={onClose}
      title="Create an authority"
      description={`A new key pair. ${KEYCHAIN_NOTE}`}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" disabled={problems.length > 0 || running} onClick={create}>
            {running ? 'Making the key…' : 'Create'}
          </Button>
        </>
      }
    >
      <form
        className="grid gap-2"
        onSubmit={(e) => {
          e.preventDefault()
          create()
        }}
      >
        <KindField kind={draft.kind} onKind={(kind) => set({ kind })} />
        <NameField name={draft.name} problems={problems} onName={(name) => set({ name })} />
        <SigningField isOn={draft.makeSigning} onChange={(makeSigning) => set({ makeSigning })} />
        {fault && <FaultNotice fault={fault} />}
        <button type="submit" hidden />
      </form>
    </Dialog>
  )
}

const EMPTY = { name: '', privateKey: '', passphrase: '', publicKey: '', makeSigning: false }

export function ImportCaSheet({ kind: first, onClose }: SheetProps) {
  const [half, setHalf] = useState<'private' | 'public'>('private')
  const [draft, setDraft] = useState({ ...EMPTY, kind: first })
  const { fault, running, submit, forget } = useSubmit(onClose)
  const asked =
    half === 'private'
      ? { ...draft, publicKey: '' }
      : { ...draft, publicKey: draft.publicKey.trim(), privateKey: '', passphrase: '', makeSigning: false }
  const problems = problemsOf('importCa', { ...asked, ifAbsent: false })
  const isEmpty = asked.privateKey === '' && asked.publicKey === ''
  const of = (field: string) => problems.find((p) => p.field === field)?.problem
  const set = (change: Partial<typeof draft>) => {
    forget()
    setDraft((d) => ({ ...d, ...change }))
  }
  return (
    <Dialog
      open
      wide
      onClose={onClose}
      title="Import an authority"
      description={
        half === 'private' ? KEYCHAIN_NOTE : 'Guests trust its certificates; whoever holds the private key signs them.'
      }
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            look="primary"
            disabled={problems.length > 0 || isEmpty || running}
            onClick={() => submit(() => importCa(asked))}
          >
            {running ? 'Importing…' : 'Import'}
          </Button>
        </>
      }
    >
      <div className="grid gap-x-4 gap-y-2 sm:grid-cols-2">
        <KindField kind={draft.kind} onKind={(kind) => set({ kind })} />
        <NameField name={draft.name} problems={problems} onName={(name) => set({ name })} />
        <div className="sm:col-span-2">
          <SelectField label="What is here" value={half} onChange={(e) => setHalf(e.target.value as typeof half)}>
            <option value="private">the private key: it signs here</option>
            <option value="public">only the public key: it is trusted here, and signs elsewhere</option>
          </SelectField>
        </div>
        {half === 'private' ? (
          <>
            <div className="sm:col-span-2">
              <TextArea
                label="Private key (OpenSSH or PEM)"
                rows={6}
                value={draft.privateKey}
                problem={draft.privateKey === '' ? undefined : of('private_key')}
                hint="It is sent to the control plane on this computer and kept nowhere else."
                onChange={(e) => set({ privateKey: e.target.value })}
              />
              <FileButton label="Pick a file…" onText={(privateKey) => set({ privateKey })} />
            </div>
            <TextField
              label="Its passphrase"
              type="password"
              value={draft.passphrase}
              problem={of('passphrase')}
              hint="Empty: it has none."
              onChange={(e) => set({ passphrase: e.target.value })}
            />
            <div className="pt-5">
              <SigningField isOn={draft.makeSigning} onChange={(makeSigning) => set({ makeSigning })} />
            </div>
          </>
        ) : (
          <div className="sm:col-span-2">
            <TextArea
              label="Public key"
              rows={3}
              value={draft.publicKey}
              problem={draft.publicKey === '' ? undefined : of('public_key')}
              placeholder="ssh-ed25519 AAAA…"
              onChange={(e) => set({ publicKey: e.target.value })}
            />
            <FileButton label="Pick a file…" onText={(publicKey) => set({ publicKey })} />
          </div>
        )}
        {fault && (
          <div className="sm:col-span-2">
            <FaultNotice fault={fault} />
          </div>
        )}
      </div>
    </Dialog>
  )
}

const KindField = ({ kind, onKind }: { kind: CaKind; onKind: (kind: CaKind) => void }) => (
  <SelectField label="It signs" value={kind} onChange={(e) => onKind(e.target.value as CaKind)}>
    <option value="user">keys of people, who then get into guests</option>
    <option value="host">keys of guests, which clients then know</option>
  </SelectField>
)

function NameField({
  name,
  problems,
  onName,
}: {
  name: string
  problems: readonly { field: string; problem: string }[]
  onName: (name: string) => void
}) {
  const problem = name === '' ? undefined : problems.find((p) => p.field === 'name')?.problem
  return (
    <TextField
      label="Name"
      value={name}
      problem={problem}
      placeholder="user-ca-2027"
      onChange={(e) => onName(e.target.value)}
    />
  )
}

const SigningField = ({ isOn, onChange }: { isOn: boolean; onChange: (on: boolean) => void }) => (
  <CheckField
    label="Sign with it from now on"
    hint="The one before stays trusted. The first of its kind signs in any case."
    checked={isOn}
    onChange={(e) => onChange(e.target.checked)}
  />
)
