import { create } from '@bufbuild/protobuf'
import { type CheckCloudInitResponse, CheckCloudInitResponseSchema } from '../gen/eitri/fleet/v1/cloud_init_pb.js'
import { checkUserData } from './check.ts'

/** The findings of user-data as the fleet API answers them: edits count bytes. */
export function checkedUserData(userData: Uint8Array): CheckCloudInitResponse {
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(userData)
  const bytesAt = (at: number) => new TextEncoder().encode(text.slice(0, at)).length
  return create(CheckCloudInitResponseSchema, {
    findings: checkUserData(userData).map(({ edits = [], ...finding }) => ({
      ...finding,
      edits: edits.map(({ start, end, text: put }) => ({ start: bytesAt(start), end: bytesAt(end), text: put })),
    })),
  })
}
