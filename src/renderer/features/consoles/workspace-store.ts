import { create } from 'zustand'
import { keep, readKept } from '../../state/kept.ts'
import { deskOf, deskText } from './kept-desk.ts'
import type { Desk } from './workspaces.ts'

const KEY = 'eitri.consoles'

/** The workspaces of this window, kept as they are. */
export const useDesk = create<Desk>(() => deskOf(readKept(KEY)))

export function changeDesk(change: (desk: Desk) => Desk | undefined): void {
  const before = useDesk.getState()
  const next = change(before)
  if (!next || next === before) return
  useDesk.setState(next)
  keep(KEY, deskText(next))
}
