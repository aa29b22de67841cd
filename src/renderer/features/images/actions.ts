import type { Image } from '../../../ipc/gen/eitri/fleet/v1/image_pb.js'
import { api } from '../../api/transport.ts'
import { toastDone, toastFault } from '../../ui/toasts.tsx'

async function ask(call: Promise<unknown>, said?: string): Promise<void> {
  try {
    await call
    if (said) toastDone(said)
  } catch (error) {
    toastFault(error)
  }
}

export const buildTiny = () => ask(api.images.buildTinyImage({}))
export const buildDebian = () => ask(api.images.buildDebianImage({}))
export const makeDefault = (image: Image) =>
  ask(api.images.setDefaultImage({ image: image.id }), `${image.name} is the default now`)
export const removeImage = (image: Image) => ask(api.images.removeImage({ image: image.id }), `Removed ${image.name}`)
