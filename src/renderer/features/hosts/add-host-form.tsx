import { useState } from 'react'
import { fromConnectError } from '../../../ipc/fault-wire.ts'
import type { FaultData } from '../../../ipc/faults.ts'
import { useInfo } from '../../api/queries.ts'
import { hrefOf } from '../../routes.ts'
import { useHosts } from '../../state/use-fleet.ts'
import { Button, buttonClass } from '../../ui/button.tsx'
import { FaultNotice } from '../../ui/fault-notice.tsx'
import { CheckField, SelectField, TextField } from '../../ui/field.tsx'
import { addThisComputer, startAdding } from './actions.ts'
import { type AddHostDraft, draftName, draftProblems, lastDraft } from './add-host-draft.ts'
import { HostPicker } from './host-picker.tsx'
import { ResolvedWay } from './resolved-way.tsx'

export function AddHostForm() {
  const { data: info } = useInfo()
  const hosts = useHosts()
  const names = info?.sshConfigHosts ?? []
  const [draft, setDraft] = useState<AddHostDraft>(lastDraft)
  const [moreOpen] = useState(draft.jump !== '' || draft.keep !== 'memory')
  const [fault, setFault] = useState<FaultData>()
  const [sending, setSending] = useState(false)
  const target = draft.target === '' && names.length === 1 ? { ...draft, target: names[0] ?? '' } : draft
  const set = (change: Partial<AddHostDraft>) => setDraft((d) => ({ ...d, ...change }))
  const problems = draftProblems(target, new Set(hosts.map((h) => h.name)))
  const problem = (field: string) =>
    target.target === '' ? undefined : problems.find((p) => p.field === field)?.problem

  const local = info && {
    possible: info.localHostPossible,
    detail: info.localHostDetail,
    added: hosts.some(({ kind }) => kind === 'local'),
  }
  const [picked, setPicked] = useState(target.target)
  const submit = async () => {
    setSending(true)
    setFault(undefined)
    try {
      await startAdding(target)
    } catch (error) {
      setFault(fromConnectError(error).toData())
    } finally {
      setSending(false)
    }
  }
  const isPicked = target.target !== '' && picked === target.target && problem('host') === undefined

  return (
    <form
      aria-label="Add a host over SSH"
      className="h-fit rounded-lg border border-line bg-panel p-5"
      onSubmit={(e) => {
        e.preventDefault()
        if (problems.length === 0 && !sending) void submit()
      }}
    >
      <HostPicker
        value={target.target}
        names={names}
        local={local}
        onLocal={() => void addThisComputer()}
        onChange={(text) => set({ target: text })}
        onPick={setPicked}
        problem={problem('host') ?? problem('port') ?? problem('user')}
        hint={
          names.length > 0
            ? `A name of your ssh configuration (${names.length} found), or user@address:port`
            : 'A name of your ssh configuration, or user@address:port'
        }
      />
      {isPicked && <ResolvedWay draft={target} />}
      <div className="mt-3 grid gap-x-4 gap-y-3 sm:grid-cols-2">
        <TextField
          label="Name here"
          value={draftName(target)}
          problem={problem('name')}
          hint="How this host is called in Eitri"
          onChange={(e) => set({ name: e.target.value })}
        />
        <TextField
          label="Key file"
          value={draft.identityFile}
          problem={problem('identity_file')}
          placeholder="as ssh would choose"
          hint="Passphrase or password is asked when needed"
          onChange={(e) => set({ identityFile: e.target.value })}
        />
      </div>
      <details className="mt-1" open={moreOpen}>
        <summary className="min-h-6 w-fit text-dim text-xs leading-6">
          More: hosts on the way, where secrets stay
        </summary>
        <div className="mt-2 grid gap-x-4 gap-y-3 sm:grid-cols-2">
          <TextField
            label="Through"
            value={draft.jump}
            problem={problem('jump')}
            placeholder="as ssh would go"
            hint="Hosts on the way, as ssh -J has it"
            onChange={(e) => set({ jump: e.target.value })}
          />
          <SelectField
            label="Secrets you type stay"
            value={draft.keep}
            onChange={(e) => set({ keep: e.target.value === 'keychain' ? 'keychain' : 'memory' })}
          >
            <option value="memory">in memory, until Eitri quits</option>
            <option value="keychain">in this computer's keychain</option>
          </SelectField>
        </div>
      </details>
      <div className="mt-2">
        <CheckField
          label="Install for the whole machine, by sudo"
          hint="Not needed when you sign in as root. Without it the agent runs as you, inside your home."
          checked={draft.useSudo}
          onChange={(e) => set({ useSudo: e.target.checked })}
        />
      </div>
      {fault && (
        <div className="mt-4">
          <FaultNotice fault={fault} />
        </div>
      )}
      <div className="mt-5 flex justify-end gap-2">
        <a href={hrefOf({ page: 'hosts', filter: '' })} className={buttonClass('plain')}>
          Cancel
        </a>
        <Button type="submit" look="primary" disabled={target.target === '' || problems.length > 0 || sending}>
          Add host
        </Button>
      </div>
    </form>
  )
}
