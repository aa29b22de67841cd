import { CLOCK_POLICIES, clockPolicyOf } from '../../../ipc/clock-policy.ts'
import { policyWords } from '../../../ipc/clock-words.ts'
import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import type { Image } from '../../../ipc/gen/eitri/fleet/v1/image_pb.js'
import { formatMemory } from '../../lib/format.ts'
import { CheckField, SelectField, TextArea, TextField } from '../../ui/field.tsx'
import { shareOf } from '../hosts/view-model.ts'
import { CloudInitField } from './cloud-init-field.tsx'
import type { CreateVmDraft, Sizes } from './create-vm-draft.ts'
import type { Findings } from './use-findings.ts'

interface CreateVmFieldsProps {
  draft: CreateVmDraft
  set: (change: Partial<CreateVmDraft>) => void
  /** What is wrong with a field, by its name on the wire. */
  problem: (field: string) => string | undefined
  hosts: Host[]
  /** Of operators, that a second NIC can be on. */
  networks: string[]
  images: Image[]
  /** The image it would be made from: the chosen one, else the default. */
  image: Image | undefined
  /** What empty size fields mean. */
  sizes: Sizes
  /** Of the user-data. */
  findings: Findings
}

export function CreateVmFields(props: CreateVmFieldsProps) {
  const { draft, set, problem, hosts, networks, images, image, sizes, findings } = props
  const defaultImage = images.find((i) => i.isDefault)
  const chosenHost = hosts.find((h) => h.id === draft.host)
  return (
    <>
      <div className="sm:col-span-2">
        <TextField
          label="Name"
          autoFocus
          value={draft.name}
          problem={problem('name')}
          hint={draft.name ? 'Free' : undefined}
          onChange={(e) => set({ name: e.target.value })}
          onFocus={(e) => e.target.select()}
        />
      </div>
      <div className="sm:col-span-2">
        <SelectField
          label="Host"
          value={draft.host}
          hint={chosenHost ? freeText(chosenHost) : 'The one with most free memory'}
          onChange={(e) => set({ host: e.target.value })}
        >
          <option value="">Pick for me</option>
          {hosts.map((h) => (
            <option key={h.id} value={h.id}>
              {h.name}
              {h.link === 'connected' ? '' : ' (not connected)'}
            </option>
          ))}
        </SelectField>
      </div>
      <div className="sm:col-span-2">
        <SelectField
          label="Image"
          value={draft.image}
          problem={images.length === 0 ? 'no image yet' : problem('image')}
          hint={image && <span title={image.description}>{image.description.split('. ', 1)[0]}</span>}
          onChange={(e) => set({ image: e.target.value })}
        >
          <option value="">{defaultImage ? `${defaultImage.name} (default)` : 'No default image'}</option>
          {images
            .filter((i) => i.id !== defaultImage?.id)
            .map((i) => (
              <option key={i.id} value={i.id}>
                {i.name}
              </option>
            ))}
        </SelectField>
      </div>
      <div className="sm:col-span-2">
        <TextField
          label="vCPUs"
          inputMode="numeric"
          value={draft.vcpus}
          placeholder={String(sizes.vcpus)}
          problem={problem('vcpus')}
          onChange={(e) => set({ vcpus: e.target.value })}
        />
      </div>
      <div className="sm:col-span-2">
        <TextField
          label="Memory (MB)"
          inputMode="numeric"
          value={draft.memMb}
          placeholder={String(sizes.memMb)}
          problem={problem('mem_mb')}
          onChange={(e) => set({ memMb: e.target.value })}
        />
      </div>
      <div className="sm:col-span-2">
        <TextField
          label="Disk (GB)"
          inputMode="numeric"
          value={draft.diskGb}
          placeholder={String(sizes.diskGb)}
          problem={problem('disk_gb')}
          onChange={(e) => set({ diskGb: e.target.value })}
        />
      </div>
      <div className="sm:col-span-6">
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
      <div className="sm:col-span-6">
        <CloudInitField value={draft.cloudInit} findings={findings} onChange={(cloudInit) => set({ cloudInit })} />
      </div>
      <div className="sm:col-span-6">
        <CheckField
          label="Start it again whenever its host starts"
          checked={draft.autostart}
          onChange={(e) => set({ autostart: e.target.checked })}
        />
      </div>
      {(networks.length > 0 || draft.network !== '') && (
        <div className="sm:col-span-6">
          <SelectField
            label="Second network card"
            value={draft.network}
            problem={problem('network')}
            hint="On a network of the host's operator, beside the one every VM is on. Its own DHCP server gives the address."
            onChange={(e) => set({ network: e.target.value })}
          >
            <option value="">None</option>
            {[...new Set([...networks, draft.network])].filter(Boolean).map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </SelectField>
        </div>
      )}
      <details className="sm:col-span-6">
        <summary className="cursor-pointer py-1 text-dim">Advanced</summary>
        <div className="pt-2 sm:w-1/2">
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
        </div>
      </details>
    </>
  )
}

function freeText(host: Host): string {
  const share = shareOf(host, 'memMb')
  if (host.link !== 'connected') return 'Not connected now: the VM waits for it'
  return share
    ? `${formatMemory(Math.max(0, share.total - share.used))} of memory not given to VMs yet`
    : 'Capacity not told yet'
}
