import { Check, Copy } from 'lucide-react'
import { useMemo, useState } from 'react'
import { fromConnectError } from '../../../ipc/fault-wire.ts'
import type { FaultData } from '../../../ipc/faults.ts'
import { api } from '../../api/transport.ts'
import { go, hrefOf } from '../../routes.tsx'
import { fleetStore, knowVm } from '../../state/fleet-store.ts'
import { useHosts, useImages, useVms } from '../../state/use-fleet.ts'
import { Button, buttonClass } from '../../ui/button.tsx'
import { FaultNotice } from '../../ui/fault-notice.tsx'
import { Page, PageTitle } from '../../ui/page.tsx'
import { FirstImage } from '../images/first-image.tsx'
import { CreatePreview } from './create-preview.tsx'
import {
  type CreateVmDraft,
  checkedShape,
  createVmCli,
  createVmProblems,
  defaultSizes,
  freeName,
  networksOf,
} from './create-vm-draft.ts'
import { CreateVmFields } from './create-vm-fields.tsx'
import { useFindings } from './use-findings.ts'

const KEY_MEMORY = 'eitri.ssh-keys'

export function CreateVmPage({ host }: { host: string }) {
  const hosts = useHosts().filter((h) => h.status !== 'decommissioning')
  const images = useImages()
  const vms = useVms()
  const taken = useMemo(() => new Set(vms.filter((vm) => !vm.deletedAt).map((vm) => vm.name)), [vms])
  const [draft, setDraft] = useState<CreateVmDraft>(() => ({
    name: freeName(taken),
    host,
    image: '',
    vcpus: '',
    memMb: '',
    diskGb: '',
    sshKeys: localStorage.getItem(KEY_MEMORY) ?? '',
    cloudInit: '',
    network: '',
    autostart: true,
    clockPolicy: 'auto',
  }))
  const [fault, setFault] = useState<FaultData>()
  const [sending, setSending] = useState(false)
  const [copied, setCopied] = useState(false)
  const set = (change: Partial<CreateVmDraft>) => {
    setDraft((d) => ({ ...d, ...change }))
    setCopied(false)
  }
  const defaultImage = images.find((i) => i.isDefault)
  const image = images.find((i) => i.id === draft.image) ?? defaultImage
  const chosenHost = hosts.find((h) => h.id === draft.host)
  const sizes = defaultSizes(image)
  const findings = useFindings(draft.cloudInit)
  const networks = networksOf(hosts, draft.host)
  const problems = createVmProblems(draft, image, taken, draft.cloudInit === '' ? [] : findings.found, networks)
  const problem = (field: string) => problems.find((p) => p.field === field)?.problem
  const blocked =
    hosts.length === 0 ? 'Add a host first.' : images.length === 0 ? 'An image is needed first.' : undefined
  const refused = problem('cloud_init')

  const submit = async () => {
    setSending(true)
    setFault(undefined)
    try {
      localStorage.setItem(KEY_MEMORY, draft.sshKeys)
      const { labels, ...checked } = checkedShape(draft, image)
      const { vm } = await api.vms.createVm({ ...checked, labels, autostart: draft.autostart })
      if (!vm) return
      knowVm(fleetStore, vm)
      go({ page: 'vm', id: vm.id, tab: 'console' })
    } catch (error) {
      setFault(fromConnectError(error).toData())
    } finally {
      setSending(false)
    }
  }
  const cli = createVmCli(draft, {
    host: chosenHost?.name ?? '',
    image: images.find((i) => i.id === draft.image)?.name ?? '',
  })

  return (
    <Page title={<PageTitle>Create VM</PageTitle>}>
      <form
        aria-label="Create VM"
        className="min-h-0 flex-1 overflow-y-auto bg-bg"
        onSubmit={(e) => {
          e.preventDefault()
          if (problems.length === 0 && !blocked && !sending) void submit()
        }}
        onKeyDown={(e) => {
          if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) e.currentTarget.requestSubmit()
        }}
      >
        <div className="mx-auto grid max-w-5xl gap-5 p-6 lg:grid-cols-[1fr_20rem]">
          {images.length === 0 && (
            <div className="lg:col-span-2">
              <FirstImage />
            </div>
          )}
          <div className="grid h-fit gap-x-4 gap-y-2.5 rounded-lg border border-line bg-panel p-5 sm:grid-cols-6">
            <CreateVmFields
              draft={draft}
              set={set}
              problem={problem}
              hosts={hosts}
              networks={networks}
              images={images}
              sizes={sizes}
              image={image}
              findings={findings}
            />
            {fault && (
              <div className="sm:col-span-6">
                <FaultNotice fault={fault} />
              </div>
            )}
            <div className="mt-2 flex items-center gap-2 sm:col-span-6">
              <Button
                look="quiet"
                onClick={() => void navigator.clipboard.writeText(cli).then(() => setCopied(true))}
                title={cli}
              >
                {copied ? <Check size={14} aria-hidden /> : <Copy size={14} aria-hidden />}
                {copied ? 'Copied' : 'Copy as CLI'}
              </Button>
              {blocked ? (
                <span className="text-warn">{blocked}</span>
              ) : (
                refused && <span className="line-clamp-2 min-w-0 text-bad text-xs">User-data: {refused}.</span>
              )}
              <a href={hrefOf({ page: 'vms', filter: '' })} className={`ml-auto ${buttonClass('plain')}`}>
                Cancel
              </a>
              <Button
                type="submit"
                look="primary"
                disabled={problems.length > 0 || blocked !== undefined || sending}
                title="Ctrl+Enter"
              >
                {sending ? 'Asking…' : 'Create'}
              </Button>
            </div>
          </div>
          <CreatePreview
            image={image}
            host={chosenHost ?? (hosts.length === 1 ? hosts[0] : undefined)}
            shape={checkedShape(draft, image)}
            cli={cli}
          />
        </div>
      </form>
    </Page>
  )
}
