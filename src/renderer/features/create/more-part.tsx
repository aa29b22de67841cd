import { CLOCK_POLICIES, clockPolicyOf } from '../../../ipc/clock-policy.ts'
import { policyWords } from '../../../ipc/clock-words.ts'
import { CheckField, SelectField, TextArea, TextField } from '../../ui/field.tsx'
import { CreatePart } from './create-part.tsx'
import type { CreateVmDraft } from './create-vm-draft.ts'

interface MoreProps {
  draft: CreateVmDraft
  set: (change: Partial<CreateVmDraft>) => void
  problem: (field: string) => string | undefined
  /** Of operators, that a second NIC can be on. */
  networks: readonly string[]
}

export function MorePart({ draft, set, problem, networks }: MoreProps) {
  return (
    <CreatePart title="More">
      <div className="grid gap-x-4 gap-y-2 sm:grid-cols-2">
        <div className="sm:col-span-2">
          <TextArea
            label="SSH public keys"
            rows={2}
            value={draft.sshKeys}
            placeholder="ssh-ed25519 AAAA… you@laptop, one a line"
            problem={problem('ssh_authorized_keys')}
            hint="Put into the guest's first user. Remembered for the next VM."
            onChange={(e) => set({ sshKeys: e.target.value })}
          />
        </div>
        <CheckField
          label="Start it again whenever its host starts"
          checked={draft.autostart}
          onChange={(e) => set({ autostart: e.target.checked })}
        />
        <CheckField
          label="Protected"
          hint="It is not deleted or forced off before this is taken away."
          checked={draft.protected}
          onChange={(e) => set({ protected: e.target.checked })}
        />
        <SelectField
          label="Second network card"
          value={draft.network}
          problem={problem('network')}
          disabled={networks.length === 0 && draft.network === ''}
          hint={
            networks.length === 0
              ? 'No host offers a network of its own.'
              : "On a network of the host's operator, whose DHCP server gives the address."
          }
          onChange={(e) => set({ network: e.target.value })}
        >
          <option value="">None</option>
          {[...new Set([...networks, draft.network])].filter(Boolean).map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </SelectField>
        <SelectField
          label="Who keeps its clock"
          value={draft.clockPolicy}
          hint={policyWords(draft.clockPolicy)}
          onChange={(e) => set({ clockPolicy: clockPolicyOf(e.target.value) })}
        >
          {CLOCK_POLICIES.map((policy) => (
            <option key={policy} value={policy}>
              {policy}
            </option>
          ))}
        </SelectField>
        <TextField
          label="Keep it as a template named"
          value={draft.saveAs}
          placeholder="not kept"
          problem={problem('save_as')}
          hint="Made once the VM is; keys and CAs are not in it."
          onChange={(e) => set({ saveAs: e.target.value })}
        />
      </div>
    </CreatePart>
  )
}
