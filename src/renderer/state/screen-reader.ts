import { create } from 'zustand'
import { desktopShell } from '../api/bridge.ts'
import type { Preferences } from './preference-shape.ts'
import { usePreferences } from './preferences.ts'

/** Undefined = nobody tells, as in a browser. */
export const useSystemReader = create<{ reader: boolean | undefined }>(() => ({ reader: undefined }))

/** Follows what the system says of a screen reader, where a shell passes it on. */
export function watchReader(): void {
  desktopShell().onReader?.((reader) => useSystemReader.setState({ reader }))
}

/** Whether consoles are read aloud: as a person chose, else as the system says. Pure. */
export const readsAloud = (chosen: Preferences['screenReader'], reader: boolean | undefined): boolean =>
  chosen === 'auto' ? reader === true : chosen === 'on'

/** Why it is on or off now, and who can change it. Pure. */
export function readerWords(chosen: Preferences['screenReader'], reader: boolean | undefined): string {
  const means = 'Reads output as it comes; slower on much text.'
  if (chosen !== 'auto') return `${means} ${chosen === 'on' ? 'On' : 'Off'} by your choice.`
  if (reader === undefined) return `${means} A browser does not say whether a reader runs: choose On if one does.`
  return `${means} Follows the system: ${reader ? 'a screen reader runs' : 'no screen reader runs'}.`
}

export const isReadingAloud = (): boolean =>
  readsAloud(usePreferences.getState().screenReader, useSystemReader.getState().reader)

export function useReadsAloud(): boolean {
  const chosen = usePreferences((p) => p.screenReader)
  return readsAloud(
    chosen,
    useSystemReader(({ reader }) => reader),
  )
}
