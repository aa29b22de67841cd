import type { CatalogueImage, Image } from '../../../ipc/gen/eitri/fleet/v1/image_pb.js'
import { api } from '../../api/transport.ts'
import { toastDone, toastFault } from '../../ui/toasts.tsx'

/** False when it failed; the person has been told why. */
async function ask(call: Promise<unknown>, said?: string): Promise<boolean> {
  try {
    await call
    if (said) toastDone(said)
    return true
  } catch (error) {
    toastFault(error)
    return false
  }
}

export const buildTiny = () => ask(api.images.buildTinyImage({}))
export const buildDebian = () => ask(api.images.buildDebianImage({}))
export const makeDefault = (image: Image) =>
  ask(api.images.setDefaultImage({ image: image.id }), `${image.name} is the default now`)
export const removeImage = (image: Image) => ask(api.images.removeImage({ image: image.id }), `Removed ${image.name}`)
export const addFromCatalogue = (entry: CatalogueImage, name: string, makeItDefault: boolean) =>
  ask(api.images.addCatalogueImage({ entry: entry.id, name, makeDefault: makeItDefault }))
export const pushTo = (image: Image, hostId: string) => ask(api.images.pushImage({ image: image.id, host: hostId }))
