import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import type { Image } from '../../../ipc/gen/eitri/fleet/v1/image_pb.js'
import { formatBytes, formatGib, formatMemory, plural } from '../../lib/format.ts'
import type { checkedShape } from './create-vm-draft.ts'

interface PreviewProps {
  image: Image | undefined
  /** Undefined = picked when it is created. */
  host: Host | undefined
  shape: ReturnType<typeof checkedShape>
  cli: string
}

/** What creating will do, in order, with what is already there. */
export function CreatePreview({ image, host, shape, cli }: PreviewProps) {
  const cached = image !== undefined && host !== undefined && image.cachedOn.includes(host.id)
  const size = image?.sizeBytes === undefined ? '' : ` (${formatBytes(image.sizeBytes)})`
  const steps = [
    image === undefined
      ? 'Get the image'
      : cached
        ? `Use ${image.name}, already on ${host.name}`
        : image.url
          ? `Fetch ${image.name}${size} from its address`
          : `Send ${image.name}${size} to ${host?.name ?? 'the host'}`,
    `Make a disk of ${formatGib(shape.diskGb)} on top of it`,
    seedText(shape),
    `Start it with ${plural(shape.vcpus, 'vCPU')} and ${formatMemory(shape.memMb)}`,
    'Its console opens with the first byte it prints',
  ]
  return (
    <aside aria-label="Preview" className="h-fit rounded-lg border border-line bg-panel p-4">
      <h2 className="mb-2 font-medium text-dim text-xs">Will do, in order</h2>
      <ol className="grid gap-2">
        {steps.map((step, i) => (
          <li key={step} className="flex gap-2.5">
            <span aria-hidden className="w-3 shrink-0 text-right text-faint">
              {i + 1}
            </span>
            <span className="min-w-0">{step}</span>
          </li>
        ))}
      </ol>
      <h2 className="mt-4 mb-1.5 font-medium text-dim text-xs">The same on the command line</h2>
      <code className="block break-words rounded-md border border-line bg-bg px-3 py-2 font-mono text-xs leading-5">
        {cli.split(/ (?=--)/).map((part, i) => (
          <span key={part} className={`block ${i > 0 ? 'pl-4' : ''}`}>
            {part}
          </span>
        ))}
      </code>
    </aside>
  )
}

function seedText(shape: PreviewProps['shape']): string {
  const parts = ['its name']
  if (shape.sshAuthorizedKeys.length > 0) parts.push(plural(shape.sshAuthorizedKeys.length, 'SSH key'))
  if (shape.cloudInit.length > 0) parts.push(`user-data of ${formatBytes(shape.cloudInit.length)}`)
  return `Write its seed: ${parts.join(', ')}`
}
