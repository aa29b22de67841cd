import { create } from 'zustand'
import type { Image } from '../../../ipc/gen/eitri/fleet/v1/image_pb.js'
import { useFleet } from '../../state/use-fleet.ts'
import { type Gone, SheetSubject } from '../../ui/sheet-subject.tsx'
import { AddImageSheet } from './add-image-sheet.tsx'
import { CollectSheet } from './collect-sheet.tsx'
import { PushSheet } from './push-sheet.tsx'
import { RemoveImageSheet } from './remove-image-sheet.tsx'

interface OfImage {
  sheet: 'push' | 'remove'
  image: Image
}
type Open = OfImage | { sheet: 'add' | 'collect' } | undefined

const useOpen = create<{ open: Open }>(() => ({ open: undefined }))
const show = (open: Open) => useOpen.setState({ open })
const close = () => show(undefined)

const SHEETS = {
  push: (image: Image) => show({ sheet: 'push', image }),
  remove: (image: Image) => show({ sheet: 'remove', image }),
  add: () => show({ sheet: 'add' }),
  collect: () => show({ sheet: 'collect' }),
}

/** Opens the sheets of images from a row, a button or the drawer. */
export const useImageSheets = () => SHEETS

/** The one that is open. Mounted by the page and by nothing else. */
export function ImageSheets() {
  const { open } = useOpen()
  if (open?.sheet === 'add') return <AddImageSheet onClose={close} />
  if (open?.sheet === 'collect') return <CollectSheet onClose={close} />
  return open && 'image' in open ? <SheetOfImage key={`${open.sheet} ${open.image.id}`} {...open} /> : null
}

function SheetOfImage({ sheet, image: opened }: OfImage) {
  const now = useFleet((f) => f.images.get(opened.id))
  const image = now ?? opened
  return (
    <SheetSubject gone={now ? undefined : goneImage(opened)}>
      {sheet === 'push' ? (
        <PushSheet image={image} onClose={close} />
      ) : (
        <RemoveImageSheet image={image} onClose={close} />
      )}
    </SheetSubject>
  )
}

const goneImage = ({ name }: Image): Gone => ({
  title: `${name} is gone from the list of images`,
  what: 'It was removed meanwhile, by another window or the command line. Copies on hosts stay until they are cleaned up; it can be added again.',
})
