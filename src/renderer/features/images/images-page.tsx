import { Disc3, MoreHorizontal, Plus } from 'lucide-react'
import { useState } from 'react'
import type { Image } from '../../../ipc/gen/eitri/fleet/v1/image_pb.js'
import { useInfo } from '../../api/queries.ts'
import { formatBytes } from '../../lib/format.ts'
import { useImages, useTasks } from '../../state/use-fleet.ts'
import { Button, IconButton } from '../../ui/button.tsx'
import { CopyButton } from '../../ui/copy-text.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { Menu } from '../../ui/menu.tsx'
import { Page, PageTitle } from '../../ui/page.tsx'
import { DataTable, type TableColumn } from '../../ui/table.tsx'
import { TaskSteps } from '../tasks/task-steps.tsx'
import { isOpen } from '../tasks/view-model.ts'
import { makeDefault, removeImage } from './actions.ts'
import { AddImageSheet } from './add-image-sheet.tsx'
import { BuildButtons } from './build-buttons.tsx'

export function ImagesPage() {
  const images = useImages()
  const { data: info } = useInfo()
  const [adding, setAdding] = useState(false)
  const building = useTasks().filter((t) => t.kind === 'build_image' && isOpen(t))
  const impossible = [
    info?.buildTinyPossible === false ? `The tiny image cannot be built here: ${info.buildTinyDetail}.` : '',
    info?.buildDebianPossible === false ? `Debian 12 cannot be built here: ${info.buildDebianDetail}.` : '',
  ].filter((sentence) => sentence !== '')
  return (
    <Page
      title={<PageTitle count={String(images.length)}>Images</PageTitle>}
      actions={
        <>
          <BuildButtons />
          <Button look="primary" onClick={() => setAdding(true)}>
            <Plus size={15} aria-hidden />
            Add image
          </Button>
        </>
      }
    >
      {building.map((task) => (
        <section key={task.id} aria-label={`Building ${task.subject}`} className="border-line border-b px-5 py-3">
          <h2 className="font-medium">Building {task.subject} from packages on this computer</h2>
          <div className="max-w-xl">
            <TaskSteps task={task} />
          </div>
        </section>
      ))}
      {images.length === 0 && building.length > 0 ? null : images.length === 0 ? (
        <EmptyState icon={Disc3} title="No images yet">
          <p>
            The tiny image is built on this computer in seconds and boots in one: a kernel, a shell and SSH. Debian 12
            takes a few minutes and is a whole system. Other images are added by their address and SHA-256.
          </p>
          <div className="flex justify-center gap-2">
            <BuildButtons />
          </div>
          {impossible.map((sentence) => (
            <p key={sentence} className="text-warn">
              {sentence}
            </p>
          ))}
        </EmptyState>
      ) : (
        <DataTable
          label="Images"
          rows={images}
          columns={columns}
          rowId={(image) => image.id}
          onOpen={() => undefined}
          initialSort={{ id: 'name', desc: false }}
          minWidth={700}
        />
      )}
      {adding && <AddImageSheet taken={new Set(images.map((i) => i.name))} onClose={() => setAdding(false)} />}
    </Page>
  )
}

const none = <span className="text-faint">–</span>

const columns: TableColumn<Image>[] = [
  {
    id: 'name',
    header: 'Name',
    width: 'auto',
    sort: (i) => i.name,
    cell: (i) => (
      <span className="flex items-baseline gap-2">
        <span className="font-medium">{i.name}</span>
        {i.isDefault && (
          <span className="rounded-full border border-good/40 px-1.5 text-good text-xs leading-4">default</span>
        )}
        <span className="truncate text-faint text-xs" title={i.description}>
          {i.description}
        </span>
      </span>
    ),
  },
  { id: 'kind', header: 'Kind', width: '80px', sort: (i) => i.kind, cell: (i) => i.kind },
  { id: 'arch', header: 'Arch', width: '90px', from: 'wide', sort: (i) => i.arch, cell: (i) => i.arch },
  {
    id: 'size',
    header: 'Size',
    width: '100px',
    align: 'right',
    sort: (i) => (i.sizeBytes === undefined ? undefined : Number(i.sizeBytes)),
    cell: (i) => (i.sizeBytes === undefined ? none : formatBytes(i.sizeBytes)),
  },
  {
    id: 'sha256',
    header: 'SHA-256',
    width: '150px',
    cell: (i) => (
      <span className="flex items-center gap-1">
        <code className="font-mono text-xs" title={i.sha256}>
          {i.sha256.slice(0, 12)}
        </code>
        <CopyButton text={i.sha256} label={`Copy the SHA-256 of ${i.name}`} />
      </span>
    ),
  },
  {
    id: 'source',
    header: 'From',
    width: '180px',
    from: 'middle',
    sort: (i) => i.url,
    cell: (i) => (i.url ? <span title={i.url}>{i.url.replace(/^https?:\/\//, '')}</span> : 'this store'),
  },
  {
    id: 'used',
    header: 'Used by',
    width: '96px',
    align: 'right',
    sort: (i) => i.usedBy,
    cell: (i) => i.usedBy || none,
  },
  {
    id: 'cached',
    header: 'On hosts',
    width: '100px',
    align: 'right',
    sort: (i) => i.cachedOn.length,
    cell: (i) => i.cachedOn.length || none,
  },
  {
    id: 'actions',
    header: 'Actions',
    width: '60px',
    align: 'right',
    cell: (i) => (
      <Menu
        trigger={
          <IconButton label={`Actions for ${i.name}`} data-row-menu>
            <MoreHorizontal size={16} aria-hidden />
          </IconButton>
        }
        items={[
          { label: 'Make default', disabled: i.isDefault, onSelect: () => void makeDefault(i) },
          'separator',
          {
            label: i.usedBy > 0 ? `Remove (used by ${i.usedBy})` : 'Remove',
            danger: true,
            disabled: i.usedBy > 0,
            onSelect: () => void removeImage(i),
          },
        ]}
      />
    ),
  },
]
