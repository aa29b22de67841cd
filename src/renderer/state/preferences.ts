import { create } from 'zustand'

export type Theme = 'system' | 'light' | 'dark'
export type Density = 'comfortable' | 'compact'

interface Preferences {
  theme: Theme
  density: Density
  singleKeys: boolean
  screenReader: boolean
}

const KEY = 'eitri.preferences'
const DEFAULTS: Preferences = { theme: 'system', density: 'comfortable', singleKeys: true, screenReader: false }

function read(): Preferences {
  try {
    return { ...DEFAULTS, ...(JSON.parse(localStorage.getItem(KEY) ?? '{}') as Partial<Preferences>) }
  } catch {
    return DEFAULTS
  }
}

export const usePreferences = create<Preferences>(read)

export function setPreference<K extends keyof Preferences>(key: K, value: Preferences[K]): void {
  usePreferences.setState({ [key]: value })
  localStorage.setItem(KEY, JSON.stringify(usePreferences.getState()))
}

/** Puts theme and density on the root element and follows the system while the theme is `system`. */
export function applyPreferences(): void {
  const dark = matchMedia('(prefers-color-scheme: dark)')
  const apply = () => {
    const { theme, density } = usePreferences.getState()
    const root = document.documentElement
    root.classList.toggle('dark', theme === 'dark' || (theme === 'system' && dark.matches))
    root.dataset['density'] = density
  }
  dark.addEventListener('change', apply)
  usePreferences.subscribe(apply)
  apply()
}
