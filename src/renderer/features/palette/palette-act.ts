import { type LucideIcon, Zap } from 'lucide-react'
import type { PaletteEntry } from '../../lib/palette-rank.ts'
import { usePreferences } from '../../state/preferences.ts'
import { keyOf, keyText } from '../../ui/key-table.ts'

/** One line of the palette. What destroys never runs from here: it opens its sheet. */
export interface Act extends PaletteEntry {
  run: () => void
  icon: LucideIcon
  /** Its shortcut, as it is pressed. */
  keys?: string
}

export const act = (text: string, run: () => void, more: Partial<Act> = {}): Act => ({
  id: `>${text}`,
  kind: '>',
  text,
  hint: '',
  icon: Zap,
  run,
  ...more,
})

/** The shortcut of an act of the key table, as the person has it. */
export const keysOf = (id: string) => ({ keys: keyText(keyOf(id, usePreferences.getState().keys)) })
