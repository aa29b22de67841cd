import { useMemo, useRef, useState } from 'react'
import { fromConnectError } from '../../../ipc/fault-wire.ts'
import type { FaultData } from '../../../ipc/faults.ts'
import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import type { Image } from '../../../ipc/gen/eitri/fleet/v1/image_pb.js'
import type { Template } from '../../../ipc/gen/eitri/fleet/v1/template_pb.js'
import { go, hrefOf } from '../../routes.ts'
import { useHosts, useImages, useTasks, useVms } from '../../state/use-fleet.ts'
import { Button, buttonClass } from '../../ui/button.tsx'
import { FaultNotice } from '../../ui/fault-notice.tsx'
import { keyText } from '../../ui/key-table.ts'
import { useKeys } from '../../ui/keys.ts'
import { Page, PageTitle } from '../../ui/page.tsx'
import { FirstImage } from '../images/first-image.tsx'
import { useTemplates } from '../vms/queries.ts'
import { CloudInitPart } from './cloud-init-part.tsx'
import { createVm } from './create-act.ts'
import { CreatePart } from './create-part.tsx'
import { CreatePreview } from './create-preview.tsx'
import { createSteps, fleetPart, imageStateText } from './create-steps.ts'
import { createVmCli, createVmScript } from './create-vm-cli.ts'
import {
  checkedShape,
  createVmProblems,
  defaultSizes,
  freeName,
  fromTemplate,
  keysOf,
  networksOf,
} from './create-vm-draft.ts'
import { guestText } from './guest-text.ts'
import { sampleData } from './jinja-render.ts'
import { MorePart } from './more-part.tsx'
import { NamePart } from './name-part.tsx'
import { type Need, pickFor, placeOn, whatStays } from './placement.ts'
import { PortsPart } from './ports-part.tsx'
import { useCreateDraft } from './use-create-draft.ts'
import { useFindings } from './use-findings.ts'
import { WhatPart } from './what-part.tsx'
import { WherePart } from './where-part.tsx'

const CREATE_KEYS = keyText('mod+enter')

/** One page, four parts, and beside it what will come of it. */
export function CreateVmPage({ host }: { host: string }) {
  const hosts = useHosts()
  const images = useImages()
  const vms = useVms()
  const tasks = useTasks()
  const templates = useTemplates().data?.templates ?? []
  const taken = useMemo(() => new Set(vms.filter((vm) => !vm.deletedAt).map((vm) => vm.name)), [vms])
  const { draft, set, restored, startOver, done } = useCreateDraft(() => freeName(taken), host)
  const [fault, setFault] = useState<FaultData>()
  const [sending, setSending] = useState(false)
  const chosen = hosts.find(({ id }) => id === draft.host)
  const image = images.find(({ id }) => id === draft.image) ?? defaultFor(images, hosts, draft.network, chosen)
  const shape = checkedShape(draft, image)
  const need: Need = {
    vcpus: shape.vcpus,
    memMb: shape.memMb,
    diskGb: shape.diskGb,
    arch: draft.image === '' ? '' : (image?.arch ?? ''),
    network: draft.network,
  }
  const auto = pickFor(hosts, need)
  const picked = chosen ? { place: placeOn(chosen, need), why: 'chosen' } : auto
  const findings = useFindings(draft.cloudInit)
  const networks = networksOf(hosts, draft.host)
  const problems = createVmProblems(draft, image, taken, draft.cloudInit === '' ? [] : findings.found, networks)
  if (draft.host !== '' && !chosen)
    problems.push({ field: 'host', problem: 'it is not in the fleet any more; choose another' })
  if (draft.image !== '' && draft.image !== image?.id)
    problems.push({ field: 'image', problem: 'it is not here any more; choose another' })
  const problem = (field: string) => problems.find((p) => p.field === field)?.problem
  const os = image?.os ?? ''
  const arch = image?.arch ?? ''
  const guest = useMemo(() => {
    if (findings.of === '') return undefined
    return guestText(
      findings.of,
      sampleData({ name: draft.name, os, arch, keys: keysOf(draft.sshKeys) }),
      findings.found,
    )
  }, [findings, draft.name, draft.sshKeys, os, arch])
  const blocked = blockedBy(hosts.length, images.length, picked?.place.refused)
  const names = { host: chosen?.name ?? '', image: images.find(({ id }) => id === draft.image)?.name ?? '' }

  const submit = async () => {
    setSending(true)
    setFault(undefined)
    try {
      const vm = await createVm(draft, image)
      done()
      go({ page: 'vm', id: vm.id, tab: 'console' })
    } catch (error) {
      setFault(fromConnectError(error).toData())
    } finally {
      setSending(false)
    }
  }
  const form = useRef<HTMLFormElement>(null)
  useKeys({ 'mod+enter': () => document.querySelector('[role=dialog]') ?? form.current?.requestSubmit() })
  const onTemplate = (template: Template | undefined) => set(fromTemplate(template, images))

  return (
    <Page
      title={<PageTitle>Create VM</PageTitle>}
      actions={
        restored && (
          <>
            <span className="text-faint text-xs">As you left it</span>
            <Button size="small" onClick={startOver}>
              Start over
            </Button>
          </>
        )
      }
    >
      <form
        ref={form}
        aria-label="Create VM"
        className="flex min-h-0 flex-1 flex-col bg-bg"
        onSubmit={(e) => {
          e.preventDefault()
          if (problems.length === 0 && !blocked && !sending) void submit()
        }}
        onKeyDown={(e) => {
          // A line typed and ended is no wish for a VM.
          const isLineEnd = e.key === 'Enter' && !e.ctrlKey && !e.metaKey
          if (isLineEnd && e.target instanceof HTMLInputElement) e.preventDefault()
        }}
      >
        <div className="min-h-0 flex-1 overflow-y-auto">
          <div className="mx-auto grid max-w-6xl gap-4 p-4 lg:grid-cols-[minmax(0,1fr)_22rem]">
            {images.length === 0 && (
              <div className="lg:col-span-2">
                <FirstImage />
              </div>
            )}
            <div className="grid h-fit min-w-0 gap-4">
              <WherePart
                hosts={hosts}
                need={need}
                picked={auto}
                value={draft.host}
                problem={problem('host')}
                onChange={(host) => set({ host })}
              />
              <WhatPart
                {...{ draft, set, problem, images, image, templates, onTemplate }}
                sizes={defaultSizes(image)}
                imageState={imageStateText(image, picked?.place, tasks)}
              />
              <NamePart {...{ draft, set, problem }} />
              <CreatePart number={4} title="cloud-init">
                <CloudInitPart
                  value={draft.cloudInit}
                  findings={findings}
                  onChange={(cloudInit) => set({ cloudInit })}
                />
              </CreatePart>
              <PortsPart {...{ draft, set, problem }} />
              <MorePart {...{ draft, set, problem, networks }} />
            </div>
            <CreatePreview
              steps={createSteps({ image, place: picked?.place, shape, draft }, { vms, tasks })}
              guest={guest}
              fleet={fleetPart(shape)}
              picked={picked}
              stays={picked ? whatStays(picked.place, need) : []}
              cli={createVmCli(draft, names)}
              script={createVmScript(draft, names)}
            />
          </div>
        </div>
        <footer className="border-line border-t bg-panel px-4 py-2">
          {fault && <CreateFault fault={fault} />}
          <div className="mx-auto flex max-w-6xl items-center gap-2">
            <span role="status" className="line-clamp-2 min-w-0 text-xs">
              <Standing blocked={blocked} problems={problems} />
            </span>
            <a href={hrefOf({ page: 'vms', filter: '' })} className={`ml-auto ${buttonClass('plain')}`}>
              Cancel
            </a>
            <Button
              type="submit"
              look="primary"
              disabled={problems.length > 0 || blocked !== undefined || sending}
              title={`${CREATE_KEYS}, wherever the caret is`}
            >
              {sending ? 'Asking…' : 'Create'}
              {!sending && (
                <kbd aria-hidden className="font-normal text-xs">
                  {CREATE_KEYS}
                </kbd>
              )}
            </Button>
          </div>
        </footer>
      </form>
    </Page>
  )
}

/** The default for the host it would be on: every architecture has its own. */
function defaultFor(images: readonly Image[], hosts: readonly Host[], network: string, chosen: Host | undefined) {
  const { arch } = chosen ?? pickFor(hosts, { vcpus: 0, memMb: 0, diskGb: 0, arch: '', network })?.place.host ?? {}
  const defaults = images.filter(({ isDefault }) => isDefault)
  return defaults.find((one) => one.arch === arch) ?? defaults[0]
}

const blockedBy = (hosts: number, images: number, refused: string | undefined): string | undefined =>
  hosts === 0 ? 'Add a host first.' : images === 0 ? 'An image is needed first.' : refused ? `${refused}.` : undefined

const FIELDS: Record<string, string> = {
  cloud_init: 'User-data',
  mem_mb: 'Memory',
  disk_gb: 'Disk',
  ssh_authorized_keys: 'SSH keys',
  save_as: 'Template',
}
const fieldName = (field: string) =>
  FIELDS[field] ?? (field.startsWith('ports') ? 'Ports' : field.charAt(0).toUpperCase() + field.slice(1))

function Standing({
  blocked,
  problems,
}: {
  blocked: string | undefined
  problems: readonly { field: string; problem: string }[]
}) {
  const [first] = problems
  if (blocked) return <span className="text-warn">{blocked}</span>
  if (first && problems.length === 1)
    return <span className="text-bad">{`${fieldName(first.field)}: ${first.problem}.`}</span>
  if (first)
    return (
      <span className="text-bad">{`${problems.length} fields need a look: ${problems.map(({ field }) => fieldName(field)).join(', ')}.`}</span>
    )
  return null
}

function CreateFault({ fault }: { fault: FaultData }) {
  const left =
    fault.disposition === 'transient'
      ? 'Whether it was made is not known. Create asks for the same VM again: it is made once.'
      : 'No VM was made. What is written here stays.'
  return (
    <div className="mx-auto mb-2 max-w-6xl">
      <FaultNotice fault={fault} />
      <p className="mt-1 text-dim text-xs">{left}</p>
    </div>
  )
}
