import { Disc3, Download, Plus } from 'lucide-react'
import { useInfo } from '../../api/queries.ts'
import { useHosts } from '../../state/use-fleet.ts'
import { Button } from '../../ui/button.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { addFromCatalogue } from './actions.ts'
import { BuildButtons } from './build-buttons.tsx'
import { useImageSheets } from './image-sheets.tsx'
import { useCatalogue } from './queries.ts'
import { aboutText } from './view-model.ts'

const OFFERED = ['ubuntu-24-04', 'debian-12']
const SUFFIX: Record<string, string> = { aarch64: 'arm64' }

/** The way to a first image: fetched, or built on the spot. */
export function NoImages() {
  const { data: info } = useInfo()
  const sheets = useImageSheets()
  const [host] = useHosts()
  const { data } = useCatalogue()
  const suffix = SUFFIX[host?.arch ?? ''] ?? 'amd64'
  const offered = OFFERED.flatMap((id) => data?.images.find((entry) => entry.id === `${id}-${suffix}`) ?? [])
  const impossible = [
    info?.buildTinyPossible === false ? `The tiny image cannot be built here: ${info.buildTinyDetail}.` : '',
    info?.buildDebianPossible === false ? `Debian 12 cannot be built here: ${info.buildDebianDetail}.` : '',
  ].filter((sentence) => sentence !== '')
  return (
    <EmptyState icon={Disc3} title="No images yet">
      <p>
        A VM is made of an image. {offered[0] ? `${offered[0].title} is ${aboutText(offered[0])}; fetch it now?` : ''}{' '}
        The tiny image is built on this computer in under a minute and boots in seconds.
      </p>
      <div className="flex flex-wrap justify-center gap-2">
        {offered.map((entry) => (
          <Button key={entry.id} onClick={() => void addFromCatalogue(entry, '', false)}>
            <Download size={14} aria-hidden />
            {entry.title.split(' (')[0]}, {aboutText(entry)}
          </Button>
        ))}
      </div>
      <div className="flex flex-wrap justify-center gap-2">
        <BuildButtons />
        <Button onClick={sheets.add}>
          <Plus size={14} aria-hidden />
          Another image
        </Button>
      </div>
      {impossible.map((sentence) => (
        <p key={sentence} className="text-warn">
          {sentence}
        </p>
      ))}
    </EmptyState>
  )
}
