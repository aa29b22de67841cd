import { create } from 'zustand'
import type { Image } from '../../../ipc/gen/eitri/fleet/v1/image_pb.js'
import { useFleet } from '../../state/use-fleet.ts'
import { AddImageSheet } from './add-image-sheet.tsx'
import { CollectSheet } from './collect-sheet.tsx'
import { PushSheet } from './push-sheet.tsx'
import { RemoveImageSheet } from './remove-image-sheet.tsx'

type Open = { sheet: 'push' | 'remove'; image: string } | { sheet: 'add' | 'collect' } | undefined

const useOpen = create<{ open: Open }>(() => ({ open: undefined }))
const show = (open: Open) => useOpen.setState({ open })

const SHEETS = {
  push: (image: Image) => show({ sheet: 'push', image: image.id }),
  remove: (image: Image) => show({ sheet: 'remove', image: image.id }),
  add: () => show({ sheet: 'add' }),
  collect: () => show({ sheet: 'collect' }),
}

/** Opens the sheets of images from a row, a button or the drawer. */
export const useImageSheets = () => SHEETS

/** The one that is open. Mounted by the page and by nothing else. */
export function ImageSheets() {
  const { open } = useOpen()
  const image = useFleet((f) => (open && 'image' in open ? f.images.get(open.image) : undefined))
  const onClose = () => show(undefined)
  if (open?.sheet === 'add') return <AddImageSheet onClose={onClose} />
  if (open?.sheet === 'collect') return <CollectSheet onClose={onClose} />
  if (open?.sheet === 'push' && image) return <PushSheet image={image} onClose={onClose} />
  if (open?.sheet === 'remove' && image) return <RemoveImageSheet image={image} onClose={onClose} />
  return null
}
