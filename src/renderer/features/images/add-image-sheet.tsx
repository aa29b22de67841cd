import { useState } from 'react'
import { useImages } from '../../state/use-fleet.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { ViewToggle } from '../../ui/view-toggle.tsx'
import { AddByAddress } from './add-by-address.tsx'
import { AddFromFile } from './add-from-file.tsx'
import { BuildButtons } from './build-buttons.tsx'
import { CatalogueList } from './catalogue-list.tsx'

const WAYS = [
  { id: 'catalogue', label: 'From the catalogue' },
  { id: 'address', label: 'By address' },
  { id: 'file', label: 'From a file' },
  { id: 'build', label: 'Build here' },
] as const
type Way = (typeof WAYS)[number]['id']

const TEXT: Record<Way, string> = {
  catalogue:
    'Cloud images as their publishers put them up. The digest of each is read from its publisher over TLS when you add it.',
  address: 'A host fetches it when a VM needs it, and checks every byte against the SHA-256 you give.',
  file: 'A disk file on the computer Eitri runs on (qcow2, raw, or an OVA with one disk) is copied into this store.',
  build: 'Made on this computer from Debian packages; what is in it comes from nowhere else.',
}

/** The four ways to an image. */
export function AddImageSheet({ onClose }: { onClose: () => void }) {
  const [way, setWay] = useState<Way>('catalogue')
  const taken = new Set(useImages().map(({ name }) => name))
  return (
    <Dialog open wide onClose={onClose} title="Add an image" description={TEXT[way]}>
      <div className="mb-4 overflow-x-auto">
        <ViewToggle label="Way to add an image" views={WAYS} value={way} onView={setWay} />
      </div>
      {way === 'catalogue' && <CatalogueList onAdded={onClose} />}
      {way === 'address' && <AddByAddress taken={taken} onDone={onClose} />}
      {way === 'file' && <AddFromFile taken={taken} onDone={onClose} />}
      {way === 'build' && (
        <div className="flex flex-wrap gap-2 pb-4">
          <BuildButtons />
        </div>
      )}
    </Dialog>
  )
}
