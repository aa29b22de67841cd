import { Brush, Disc3, Plus } from 'lucide-react'
import { useMemo } from 'react'
import type { Image } from '../../../ipc/gen/eitri/fleet/v1/image_pb.js'
import { matchesFilter, parseFilter } from '../../lib/filter.ts'
import { replaceRoute } from '../../routes.ts'
import { openDetails } from '../../state/details.ts'
import { useFleet, useImages } from '../../state/use-fleet.ts'
import { Button } from '../../ui/button.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { FilterBox } from '../../ui/filter-box.tsx'
import { Page, PageTitle } from '../../ui/page.tsx'
import { DataTable } from '../../ui/table.tsx'
import { ImageSheets, useImageSheets } from './image-sheets.tsx'
import { ImageTasks } from './image-tasks.tsx'
import { imageColumns } from './images-table.tsx'
import { NoImages } from './no-images.tsx'
import { IMAGE_FILTER_FIELDS, imageFilterRecord } from './view-model.ts'

const setFilter = (filter: string) => replaceRoute({ page: 'images', filter })

export function ImagesPage({ filter }: { filter: string }) {
  const images = useImages()
  const hosts = useFleet((f) => f.hosts)
  const sheets = useImageSheets()
  const shown = useMemo(() => {
    const terms = parseFilter(filter, IMAGE_FILTER_FIELDS)
    return images.filter((image) =>
      matchesFilter(
        imageFilterRecord(image, (id) => hosts.get(id)?.name ?? ''),
        terms,
      ),
    )
  }, [images, hosts, filter])
  return (
    <Page
      title={
        <PageTitle count={filter === '' ? `${images.length}` : `${shown.length} of ${images.length}`}>Images</PageTitle>
      }
      filter={
        images.length > 0 && (
          <FilterBox value={filter} onFilter={setFilter} fields={IMAGE_FILTER_FIELDS} example="debian arch:aarch64" />
        )
      }
      actions={
        <>
          <Button onClick={sheets.collect}>
            <Brush size={14} aria-hidden />
            Clean up hosts
          </Button>
          <Button look="primary" onClick={sheets.add}>
            <Plus size={15} aria-hidden />
            Add image
          </Button>
        </>
      }
    >
      <ImageTasks />
      {images.length === 0 ? (
        <NoImages />
      ) : shown.length === 0 ? (
        <EmptyState icon={Disc3} title="No image matches">
          <Button onClick={() => setFilter('')}>Clear the filter</Button>
        </EmptyState>
      ) : (
        <DataTable
          label="Images"
          name="images"
          rows={shown}
          columns={imageColumns}
          rowId={idOf}
          onOpen={({ id }) => openDetails({ kind: 'image', id })}
          initialSort={{ id: 'name', desc: false }}
          minWidth={560}
          viewKey={filter}
        />
      )}
      <ImageSheets />
    </Page>
  )
}

const idOf = (image: Image) => image.id
