import { create } from 'zustand'
import type { Ca } from '../../../ipc/gen/eitri/fleet/v1/trust_pb.js'
import type { CaKind } from './view-model.ts'

/** What stands over the page. */
export type TrustSheet =
  | { sheet: 'create'; kind: CaKind }
  | { sheet: 'import'; kind: CaKind }
  | { sheet: 'show'; ca: Ca }
  | { sheet: 'retire'; ca: Ca }
  | { sheet: 'rotate'; kind: CaKind }
  | { sheet: 'issue' }
  /** Empty = to be typed or pasted. */
  | { sheet: 'revoke'; serial: string; about: string }

export const useTrustSheet = create<{ open: TrustSheet | undefined }>(() => ({ open: undefined }))
export const openTrustSheet = (open: TrustSheet): void => useTrustSheet.setState({ open })
export const closeTrustSheet = (): void => useTrustSheet.setState({ open: undefined })
