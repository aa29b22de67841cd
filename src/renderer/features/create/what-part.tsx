import type { Image } from '../../../ipc/gen/eitri/fleet/v1/image_pb.js'
import type { Template } from '../../../ipc/gen/eitri/fleet/v1/template_pb.js'
import { formatBytes, formatMemory } from '../../lib/format.ts'
import { SelectField, TextField } from '../../ui/field.tsx'
import { CreatePart } from './create-part.tsx'
import type { CreateVmDraft, Sizes } from './create-vm-draft.ts'

interface WhatProps {
  draft: CreateVmDraft
  set: (change: Partial<CreateVmDraft>) => void
  problem: (field: string) => string | undefined
  images: readonly Image[]
  /** The chosen one, else the default. */
  image: Image | undefined
  /** What empty size fields mean. */
  sizes: Sizes
  /** Whether it is on the host, and how it would get there. */
  imageState: string | undefined
  templates: readonly Template[]
  onTemplate: (template: Template | undefined) => void
}

export function WhatPart({ draft, set, problem, images, image, sizes, imageState, templates, onTemplate }: WhatProps) {
  const first = images.find((i) => i.isDefault)
  return (
    <CreatePart number={2} title="What">
      <div className="grid gap-x-4 gap-y-1 sm:grid-cols-6">
        {templates.length > 0 && (
          <div className="sm:col-span-3">
            <SelectField
              label="Begin with a template"
              value={draft.template}
              hint={templateHint(
                templates.find(({ name }) => name === draft.template),
                draft,
              )}
              onChange={(e) => onTemplate(templates.find(({ name }) => name === e.target.value))}
            >
              <option value="">No template</option>
              {templates.map(({ id, name }) => (
                <option key={id} value={name}>
                  {name}
                </option>
              ))}
            </SelectField>
          </div>
        )}
        <div className={templates.length > 0 ? 'sm:col-span-3' : 'sm:col-span-6'}>
          <SelectField
            label="Image"
            value={draft.image}
            problem={problem('image')}
            disabled={images.length === 0}
            hint={images.length === 0 ? 'There is none yet: it is chosen here once there is.' : imageState}
            onChange={(e) => set({ image: e.target.value })}
          >
            <option value="">{first ? `${imageText(first)} (default)` : 'No default image'}</option>
            {images
              .filter(({ id }) => id !== first?.id)
              .map((one) => (
                <option key={one.id} value={one.id}>
                  {imageText(one)}
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
            hint={/^\d{4,}$/.test(draft.memMb) ? formatMemory(Number(draft.memMb)) : undefined}
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
            hint={
              image?.virtualBytes === undefined
                ? undefined
                : `at least ${formatBytes(image.virtualBytes)}, as the image`
            }
            onChange={(e) => set({ diskGb: e.target.value })}
          />
        </div>
      </div>
    </CreatePart>
  )
}

const imageText = ({ name, os, arch }: Image): string =>
  [name, os === '' || os.toLowerCase().startsWith(name) ? '' : os, arch].filter(Boolean).join(' · ')

function templateHint(template: Template | undefined, draft: CreateVmDraft): string | undefined {
  if (!template) return undefined
  if (template.cloudInitBytes === 0) return 'It has no user-data.'
  return draft.cloudInit === ''
    ? `Its user-data (${formatBytes(template.cloudInitBytes)}) is used, as long as none is written below.`
    : 'What is written below takes the place of its user-data.'
}
