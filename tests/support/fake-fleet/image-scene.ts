import { create } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'
import { Fault } from '../../../src/ipc/faults.ts'
import { CatalogueImageSchema, type ImageService } from '../../../src/ipc/gen/eitri/fleet/v1/image_pb.js'
import { readCatalogue } from '../../../src/main/control/images/catalogue/catalogue.ts'
import type { FakeFleet } from './fake-fleet.ts'
import { aTask } from './rows.ts'

type Images = ServiceImpl<typeof ImageService>

/** The calls about images that begin something, as a control plane without a network would answer them. */
export function imageCalls(
  fleet: FakeFleet,
): Pick<
  Images,
  'listCatalogue' | 'addCatalogueImage' | 'pushImage' | 'addImage' | 'importImage' | 'removeImage' | 'setDefaultImage'
> {
  const find = (ref: string) => {
    const found = fleet.state.images.find(({ id, name }) => id === ref || name === ref)
    if (!found) throw new Fault('image/not-found', 'permanent', { image: ref })
    return found
  }
  const begin = (kind: string, subject: string, steps: readonly string[]) => {
    const task = aTask({
      kind,
      subject,
      steps: steps.map((name, i) => ({ name, state: i === 0 ? 'running' : 'waiting' })),
    })
    fleet.tell({ tasks: [task] })
    return { task }
  }
  const seen = (method: string, request: unknown) => fleet.calls.push({ method, request })
  return {
    listCatalogue: () => ({
      images: readCatalogue().map((entry) =>
        create(CatalogueImageSchema, {
          ...entry,
          aboutBytes: BigInt(entry.aboutBytes),
          addedAs: fleet.state.images.find(({ catalogue }) => catalogue === entry.id)?.name ?? '',
        }),
      ),
    }),
    addCatalogueImage: (request) => {
      seen('addCatalogueImage', request)
      return begin('add_image', request.name || request.entry, [
        "Read the publisher's list of digests",
        'Find the image in it',
        'Download it and compare its SHA-512',
        'Add to catalogue',
      ])
    },
    pushImage: (request) => {
      seen('pushImage', request)
      return begin('push_image', `${find(request.image).name} to ${fleet.host(request.host).name}`, [
        'Send it to the host',
      ])
    },
    addImage: (request) => {
      seen('addImage', request)
      return {}
    },
    importImage: (request) => {
      seen('importImage', request)
      return begin('import_image', request.name, ['Read the file', 'Add to catalogue'])
    },
    removeImage: (request) => {
      seen('removeImage', request)
      return {}
    },
    setDefaultImage: (request) => {
      seen('setDefaultImage', request)
      return { image: find(request.image) }
    },
  }
}
