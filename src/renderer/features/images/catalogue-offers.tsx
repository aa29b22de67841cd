import { Download } from 'lucide-react'
import { useHosts } from '../../state/use-fleet.ts'
import { Button } from '../../ui/button.tsx'
import { addFromCatalogue } from './actions.ts'
import { useCatalogue } from './queries.ts'
import { aboutText } from './view-model.ts'

const OFFERED = ['ubuntu-24-04', 'debian-12']
const SUFFIX: Record<string, string> = { aarch64: 'arm64' }

/** Two cloud images most people know, for the architecture of the first host. */
export function CatalogueOffers() {
  const [host] = useHosts()
  const { data } = useCatalogue()
  const suffix = SUFFIX[host?.arch ?? ''] ?? 'amd64'
  const offered = OFFERED.flatMap((id) => data?.images.find((entry) => entry.id === `${id}-${suffix}`) ?? [])
  return offered.map((entry) => (
    <Button
      key={entry.id}
      title="Its digest is read from its publisher over TLS"
      onClick={() => void addFromCatalogue(entry, '', false)}
    >
      <Download size={14} aria-hidden />
      {entry.title.split(' (')[0]}, {aboutText(entry)}
    </Button>
  ))
}
