import { Disc3, Plus } from 'lucide-react'
import { useInfo } from '../../api/queries.ts'
import { Button } from '../../ui/button.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { BuildButtons } from './build-buttons.tsx'
import { CatalogueOffers } from './catalogue-offers.tsx'
import { useImageSheets } from './image-sheets.tsx'

/** The ways to a first image: fetched, or built on the spot. */
export function NoImages() {
  const { data: info } = useInfo()
  const sheets = useImageSheets()
  const impossible = [
    info?.buildTinyPossible === false ? `The tiny image cannot be built here: ${info.buildTinyDetail}.` : '',
    info?.buildDebianPossible === false ? `Debian 12 cannot be built here: ${info.buildDebianDetail}.` : '',
  ].filter((sentence) => sentence !== '')
  return (
    <EmptyState icon={Disc3} title="No images yet">
      <p>
        A VM is made of an image. Fetch a cloud image now, or build one: the tiny image takes under a minute on this
        computer and boots in seconds.
      </p>
      <div className="flex flex-wrap justify-center gap-2">
        <CatalogueOffers />
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
