import { create } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { type Image, ImageSchema } from '../../../ipc/gen/eitri/fleet/v1/image_pb.js'
import type { ImageRow } from '../store/images-store.ts'

/** A catalogue row with who uses it and ids of hosts that have it whole. */
export function imageView(row: ImageRow, usedBy: number, cachedOn: string[]): Image {
  return create(ImageSchema, {
    id: row.id,
    name: row.name,
    kind: row.kind,
    format: row.format,
    arch: row.arch,
    url: row.url,
    sha256: row.sha256,
    ...(row.sizeBytes === null ? {} : { sizeBytes: BigInt(row.sizeBytes) }),
    isDefault: row.isDefault,
    defaultVcpus: row.defaultVcpus,
    defaultMemMb: row.defaultMemMb,
    defaultDiskGb: row.defaultDiskGb,
    description: row.description,
    createdAt: timestampFromDate(row.createdAt),
    usedBy,
    cachedOn,
    verified: row.origin.verified,
    digestsUrl: row.origin.digestsUrl,
    os: row.origin.os,
    ...(row.origin.virtualBytes === null ? {} : { virtualBytes: BigInt(row.origin.virtualBytes) }),
    catalogue: row.origin.catalogue,
  })
}
