import { Monitor } from 'lucide-react'
import { useState } from 'react'
import { go, hrefOf } from '../../routes.ts'
import { useHosts, useImages } from '../../state/use-fleet.ts'
import { buttonClass } from '../../ui/button.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { createFrom } from './actions.ts'
import { useTemplates } from './queries.ts'
import { type StartingPoint, startingPoints } from './starting-points.ts'

/** A fleet, or the part of it that is shown, without VMs. */
export function NoVms({ isScoped }: { isScoped: boolean }) {
  const hosts = useHosts()
  if (isScoped)
    return (
      <EmptyState icon={Monitor} title="No VMs here">
        <p>The part of the fleet you look at has none. All hosts are one click away, in the bar above.</p>
      </EmptyState>
    )
  if (hosts.length === 0)
    return (
      <EmptyState icon={Monitor} title="No VMs">
        <p>Add a host first: this computer, or one you reach over SSH.</p>
        <a href={hrefOf({ page: 'hosts', filter: '' })} className={buttonClass('plain')}>
          Go to hosts
        </a>
      </EmptyState>
    )
  return (
    <EmptyState icon={Monitor} title="No VMs">
      <p>Create one: about 20 s if the image is already here.</p>
      <a href={hrefOf({ page: 'create-vm', host: '' })} className={buttonClass('plain')}>
        Create your first VM
      </a>
      <StartingPoints />
    </EmptyState>
  )
}

function StartingPoints() {
  const templates = useTemplates()
  const images = useImages()
  const defaultImage = images.find((image) => image.isDefault)?.name ?? ''
  if (templates.isPending) return <p className="text-faint">Reading your templates…</p>
  const points = startingPoints(templates.data?.templates ?? [], defaultImage)
  if (points.length === 0)
    return (
      <p>
        No image is here yet.{' '}
        <a href={hrefOf({ page: 'images' })} className="text-accent underline">
          Get one first
        </a>
        : Ubuntu 24.04 is 600 MB, the tiny image 20 MB.
      </p>
    )
  return (
    <section aria-label="Or start from one of these" className="mt-2 w-[min(42rem,90vw)]">
      <h2 className="mb-2 text-faint text-xs">Or start from one of these: one click, everything else by default</h2>
      <ul className="grid gap-2 sm:grid-cols-3">
        {points.map((point) => (
          <Point key={point.id} point={point} />
        ))}
      </ul>
    </section>
  )
}

function Point({ point }: { point: StartingPoint }) {
  const [asking, setAsking] = useState(false)
  const create = async () => {
    setAsking(true)
    const vm = await createFrom(point.request)
    setAsking(false)
    if (vm) go({ page: 'vm', id: vm.id, tab: 'console' })
  }
  return (
    <li>
      <button
        type="button"
        disabled={asking}
        onClick={() => void create()}
        className="flex h-full w-full flex-col items-start rounded-lg border border-line bg-panel p-3 text-left transition-colors hover:border-line-strong hover:bg-hover disabled:opacity-60"
      >
        <span className="block font-medium text-ink">{point.title}</span>
        <span className="block text-dim text-xs">{asking ? 'Asking for it…' : point.text}</span>
      </button>
    </li>
  )
}
