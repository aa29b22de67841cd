import { create } from 'zustand'
import { keep, readKept } from './kept.ts'
import { type Preferences, readPreferences } from './preference-shape.ts'

const KEY = 'eitri.preferences'
/** Told to later versions; the values of the first one, which told none, have the same names. */
const VERSION = 2

export const usePreferences = create<Preferences>(() => readPreferences(readKept(KEY)))

export function setPreference<K extends keyof Preferences>(key: K, value: Preferences[K]): void {
  usePreferences.setState({ [key]: value })
  keep(KEY, JSON.stringify({ version: VERSION, ...usePreferences.getState() }))
}

type Group = 'terminal' | 'notices'

/** Some fields of a group; the others stay. */
export function patchPreference<K extends Group>(key: K, change: Partial<Preferences[K]>): void {
  setPreference(key, { ...usePreferences.getState()[key], ...change })
}

/** Puts theme, contrast and density on the root element, and follows the system where they say so. */
export function applyPreferences(): void {
  const dark = matchMedia('(prefers-color-scheme: dark)')
  const more = matchMedia('(prefers-contrast: more)')
  const apply = () => {
    const { theme, contrast, density } = usePreferences.getState()
    const root = document.documentElement
    root.classList.toggle('dark', theme === 'dark' || (theme === 'system' && dark.matches))
    root.classList.toggle('high-contrast', contrast === 'high' || more.matches)
    root.dataset['density'] = density
  }
  dark.addEventListener('change', apply)
  more.addEventListener('change', apply)
  addEventListener('storage', (event) => {
    if (event.key === KEY) usePreferences.setState(readPreferences(event.newValue))
  })
  usePreferences.subscribe(apply)
  apply()
}
