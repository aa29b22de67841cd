import { ShieldCheck } from 'lucide-react'
import type { Image } from '../../../ipc/gen/eitri/fleet/v1/image_pb.js'
import { cx } from '../../lib/class-names.ts'
import { formatBytes, plural } from '../../lib/format.ts'
import { hrefOf } from '../../routes.ts'
import { useFleetShallow } from '../../state/use-fleet.ts'
import { CopyButton } from '../../ui/copy-text.tsx'
import { RowMenu } from '../../ui/row-menu.tsx'
import type { TableColumn } from '../../ui/table.tsx'
import { makeDefault } from './actions.ts'
import { useImageSheets } from './image-sheets.tsx'
import { formatText, sourceText, trustedBy } from './view-model.ts'

const none = <span className="text-faint">–</span>

export const imageColumns: TableColumn<Image>[] = [
  {
    id: 'name',
    header: 'Name',
    width: 'auto',
    fixed: true,
    sort: (i) => i.name,
    cell: (i) => (
      <span className="flex items-baseline gap-2">
        <span className="truncate font-medium" title={i.description}>
          {i.name}
        </span>
        {i.isDefault && (
          <span className="rounded-full border border-good/40 px-1.5 text-good text-xs leading-4">default</span>
        )}
      </span>
    ),
  },
  {
    id: 'os',
    header: 'System',
    width: '196px',
    from: 'middle',
    sort: (i) => i.os || undefined,
    cell: (i) => i.os || none,
  },
  { id: 'arch', header: 'Arch', width: '84px', sort: (i) => i.arch, cell: (i) => i.arch },
  { id: 'format', header: 'Format', width: '124px', from: 'wide', sort: formatText, cell: formatText },
  {
    id: 'virtual',
    header: 'Disk',
    width: '84px',
    align: 'right',
    from: 'wide',
    sort: (i) => (i.virtualBytes === undefined ? undefined : Number(i.virtualBytes)),
    cell: (i) => (i.virtualBytes === undefined ? none : formatBytes(i.virtualBytes)),
  },
  {
    id: 'size',
    header: 'File',
    width: '104px',
    align: 'right',
    sort: (i) => (i.sizeBytes === undefined ? undefined : Number(i.sizeBytes)),
    cell: (i) => (i.sizeBytes === undefined ? <span className="text-faint">not known</span> : formatBytes(i.sizeBytes)),
  },
  {
    id: 'digest',
    header: 'SHA-256',
    width: '232px',
    from: 'middle',
    sort: (i) => trustedBy(i).word,
    cell: (i) => <Digest image={i} />,
  },
  {
    id: 'from',
    header: 'From',
    width: '170px',
    from: 'widest',
    sort: sourceText,
    cell: (i) => <span title={i.url}>{sourceText(i)}</span>,
  },
  {
    id: 'used',
    header: 'Used by',
    width: '88px',
    align: 'right',
    sort: (i) => i.usedBy,
    cell: (i) =>
      i.usedBy === 0 ? (
        none
      ) : (
        <a className="text-accent hover:underline" href={hrefOf({ page: 'vms', filter: `image:${i.name}` })}>
          {plural(i.usedBy, 'VM')}
        </a>
      ),
  },
  {
    id: 'cached',
    header: 'On hosts',
    width: '140px',
    sort: (i) => i.cachedOn.length,
    cell: (i) => <CachedOn image={i} />,
  },
  {
    id: 'actions',
    header: 'Actions',
    width: '68px',
    align: 'right',
    fixed: true,
    cell: (i) => <ImageMenu image={i} />,
  },
]

const TONE = { good: 'text-good', info: 'text-info', quiet: 'text-faint' }

function Digest({ image }: { image: Image }) {
  const { word, how, tone } = trustedBy(image)
  return (
    <span className="flex items-center gap-1.5" title={how}>
      <ShieldCheck size={14} aria-hidden className={cx('shrink-0', TONE[tone])} />
      <code className="font-mono text-xs">{image.sha256.slice(0, 8)}</code>
      <CopyButton text={image.sha256} label={`Copy the SHA-256 of ${image.name}`} />
      <span className="truncate text-dim text-xs">{word}</span>
    </span>
  )
}

function CachedOn({ image }: { image: Image }) {
  const names = useFleetShallow((f) => image.cachedOn.map((id) => f.hosts.get(id)?.name ?? id))
  if (names.length === 0) return none
  const [first] = names
  return <span title={names.join(', ')}>{names.length === 1 ? first : `${first} +${names.length - 1}`}</span>
}

function ImageMenu({ image }: { image: Image }) {
  const sheets = useImageSheets()
  return (
    <RowMenu
      of={image.name}
      items={[
        { label: 'Make default', disabled: image.isDefault, onSelect: () => void makeDefault(image) },
        { label: 'Push to a host', onSelect: () => sheets.push(image) },
        'separator',
        { label: 'Remove', danger: true, onSelect: () => sheets.remove(image) },
      ]}
    />
  )
}
