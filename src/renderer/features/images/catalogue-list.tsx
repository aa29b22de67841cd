import { Plus } from 'lucide-react'
import { useState } from 'react'
import { fromConnectError } from '../../../ipc/fault-wire.ts'
import type { CatalogueImage } from '../../../ipc/gen/eitri/fleet/v1/image_pb.js'
import { webHost } from '../../lib/web-host.ts'
import { useHosts, useTasks } from '../../state/use-fleet.ts'
import { Button } from '../../ui/button.tsx'
import { FaultNotice } from '../../ui/fault-notice.tsx'
import { CheckField } from '../../ui/field.tsx'
import { isOpen } from '../tasks/view-model.ts'
import { addFromCatalogue } from './actions.ts'
import { useCatalogue } from './queries.ts'
import { aboutText, catalogueGroups, comesHere } from './view-model.ts'

export function CatalogueList({ onAdded }: { onAdded: () => void }) {
  const { data, error } = useCatalogue()
  const arches = new Set(useHosts().map(({ arch }) => arch))
  const [first, setFirst] = useState(false)
  if (error) return <FaultNotice fault={fromConnectError(error).toData()} />
  if (!data)
    return (
      <p role="status" className="pb-4 text-dim">
        Reading the catalogue of this app…
      </p>
    )
  return (
    <div className="grid gap-2 pb-4">
      {catalogueGroups(data.images, arches).map(({ title, description, entries }) => (
        <section key={title} aria-label={title} className="rounded-md border border-line p-3">
          <h3 className="font-medium">{title}</h3>
          <p className="text-dim text-xs">{description}</p>
          <ul className="mt-2 grid gap-1">
            {entries.map((entry) => (
              <Entry key={entry.id} entry={entry} makeDefault={first} onAdded={onAdded} />
            ))}
          </ul>
        </section>
      ))}
      <CheckField
        label="Use it for new VMs unless another is named"
        checked={first}
        onChange={(e) => setFirst(e.target.checked)}
      />
    </div>
  )
}

function Entry({ entry, makeDefault, onAdded }: { entry: CatalogueImage; makeDefault: boolean; onAdded: () => void }) {
  const adding = useTasks().some((task) => task.kind === 'add_image' && task.subject === entry.id && isOpen(task))
  const where = comesHere(entry) ? 'downloaded here, then sent to hosts' : 'fetched by hosts'
  return (
    <li className="flex flex-wrap items-center gap-x-3">
      <span className="w-16">{entry.arch}</span>
      <span className="text-dim text-xs">
        {aboutText(entry)} from {webHost(entry.url)}, {where}
      </span>
      <span className="ml-auto">
        {entry.addedAs ? (
          <span className="text-good text-xs">added as {entry.addedAs}</span>
        ) : (
          <Button
            size="small"
            disabled={adding}
            aria-label={`Add ${entry.title} for ${entry.arch}`}
            onClick={() => void addFromCatalogue(entry, '', makeDefault).then((started) => started && onAdded())}
          >
            <Plus size={13} aria-hidden />
            {adding ? 'Adding' : 'Add'}
          </Button>
        )}
      </span>
    </li>
  )
}
