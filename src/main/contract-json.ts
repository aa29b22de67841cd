import { type DescMessage, type JsonObject, type MessageShape, toJson } from '@bufbuild/protobuf'

/** A message as everything of this program writes it as JSON: names as in the contracts, plain fields always there. */
export const contractJson = <D extends DescMessage>(schema: D, message: MessageShape<D>): JsonObject =>
  toJson(schema, message, { useProtoFieldName: true, alwaysEmitImplicit: true }) as JsonObject
