import { type RefObject, useEffect, useMemo, useRef, useState } from 'react'
import { fromConnectError } from '../../../ipc/fault-wire.ts'
import type { FaultData } from '../../../ipc/faults.ts'
import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import type { Image } from '../../../ipc/gen/eitri/fleet/v1/image_pb.js'
import type { Template } from '../../../ipc/gen/eitri/fleet/v1/template_pb.js'
import { go } from '../../routes.ts'
import { useNowAs } from '../../state/now.ts'
import { useHosts, useImages, useTasks, useVms } from '../../state/use-fleet.ts'
import { Button } from '../../ui/button.tsx'
import { useKeys } from '../../ui/keys.ts'
import { Page, PageTitle } from '../../ui/page.tsx'
import { KvmNote } from '../hosts/kvm-note.tsx'
import { FirstImage } from '../images/first-image.tsx'
import { useTemplates } from '../vms/queries.ts'
import { CloudInitPart } from './cloud-init-part.tsx'
import { createVm } from './create-act.ts'
import { CreateFoot } from './create-foot.tsx'
import { CreatePart } from './create-part.tsx'
import { CreatePreview } from './create-preview.tsx'
import { shownProblems, standingOf, waitsFor } from './create-standing.ts'
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
import { type Need, pickFor, placeOn, reachWords, whatStays } from './placement.ts'
import { PortsPart } from './ports-part.tsx'
import { useCreateDraft } from './use-create-draft.ts'
import { useFindings } from './use-findings.ts'
import { WhatPart } from './what-part.tsx'
import { WherePart } from './where-part.tsx'

/** The button that had the focus is gone with the offer of a first image: it goes to what is next. */
function useCreateFocus(form: RefObject<HTMLFormElement | null>, isReady: boolean): void {
  const was = useRef(isReady)
  useEffect(() => {
    if (isReady && !was.current && document.activeElement === document.body)
      form.current?.querySelector<HTMLElement>('[type=submit]')?.focus()
    was.current = isReady
  }, [form, isReady])
}

/** One page, four parts, and beside it what will come of it. */
export function CreateVmPage({ host }: { host: string }) {
  const hosts = useHosts()
  const images = useImages()
  const vms = useVms()
  const tasks = useTasks()
  const templates = useTemplates().data?.templates ?? []
  const taken = useMemo(() => new Set(vms.filter((vm) => !vm.deletedAt).map((vm) => vm.name)), [vms])
  const { draft, begun, set, restored, startOver, done } = useCreateDraft(() => freeName(taken), host)
  const [fault, setFault] = useState<FaultData>()
  const [sending, setSending] = useState(false)
  const [pressed, setPressed] = useState(false)
  const chosen = hosts.find(({ id }) => id === draft.host)
  const image = images.find(({ id }) => id === draft.image) ?? defaultFor(images, hosts, draft.network, chosen)
  const shape = checkedShape(draft, image)
  const need: Need = {
    vcpus: shape.vcpus,
    memMb: shape.memMb,
    diskGb: shape.diskGb,
    archs: archsFor(draft.image === '' ? images.filter(({ isDefault }) => isDefault) : image ? [image] : []),
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
  const shown = shownProblems(problems, draft, begun, pressed)
  const problem = (field: string) => shown.find((p) => p.field === field)?.problem
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
  const waits = useNowAs((now) => waitsFor(hosts.length, images.length, tasks, now))
  const refused = picked?.place.refused
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
  useCreateFocus(form, images.length > 0)
  useKeys({ 'mod+enter': () => document.querySelector('[role=dialog]') ?? form.current?.requestSubmit() })
  const onTemplate = (template: Template | undefined) => set(fromTemplate(template, images))

  return (
    <Page
      title={<PageTitle>Create VM</PageTitle>}
      actions={
        restored && (
          <>
            <span className="text-faint text-xs">As you left it</span>
            <Button
              size="small"
              onClick={() => {
                setPressed(false)
                startOver()
              }}
            >
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
          setPressed(true)
          if (problems.length > 0) requestAnimationFrame(() => focusMistake(form.current))
          else if (!waits && !refused && !sending) void submit()
        }}
        onKeyDown={(e) => {
          // A line typed and ended is no wish for a VM.
          const isLineEnd = e.key === 'Enter' && !e.ctrlKey && !e.metaKey
          if (isLineEnd && e.target instanceof HTMLInputElement) e.preventDefault()
        }}
      >
        <div className="min-h-0 flex-1 overflow-y-auto">
          <div className="mx-auto grid max-w-6xl gap-4 p-4 lg:grid-cols-[minmax(0,1fr)_22rem]">
            {(images.length === 0 || picked) && (
              <div className="grid gap-4 empty:hidden lg:col-span-2">
                {picked && <KvmNote host={picked.place.host} />}
                {images.length === 0 && <FirstImage />}
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
              <PortsPart {...{ draft, set, problem }} reached={reachWords(picked?.place.host, draft.network)} />
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
        <CreateFoot
          isWrong={shown.length > 0}
          standing={standingOf(waits, shown, refused)}
          waits={waits !== undefined}
          {...{ sending, fault }}
        />
      </form>
    </Page>
  )
}

/** The default for the host it would be on: every architecture has its own. */
function defaultFor(images: readonly Image[], hosts: readonly Host[], network: string, chosen: Host | undefined) {
  const defaults = images.filter(({ isDefault }) => isDefault)
  const { arch } =
    chosen ?? pickFor(hosts, { vcpus: 0, memMb: 0, diskGb: 0, archs: archsFor(defaults), network })?.place.host ?? {}
  return defaults.find((one) => one.arch === arch) ?? defaults[0]
}

const archsFor = (images: readonly Image[]) => [...new Set(images.map(({ arch }) => arch).filter(Boolean))]

/** The first field with something wrong, for who pressed Create. */
function focusMistake(form: HTMLFormElement | null): void {
  const wrong = form?.querySelector<HTMLElement>('[aria-invalid=true], [data-invalid] .cm-content')
  wrong?.focus()
  wrong?.scrollIntoView({ block: 'center' })
}
