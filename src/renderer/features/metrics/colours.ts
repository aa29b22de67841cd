/** What a canvas draws with, taken from the tokens of the theme. */
export interface Colours {
  lines: readonly [string, string]
  grid: string
  text: string
  gap: string
  pointed: string
  font: string
}

/** As they are now; `isOld` takes the colour from what is last known. */
export function coloursNow(isOld: boolean): Colours {
  const style = getComputedStyle(document.documentElement)
  const token = (name: string) => style.getPropertyValue(name).trim()
  return {
    lines: isOld ? [token('--quiet'), token('--faint')] : [token('--accent'), token('--ember')],
    grid: token('--line'),
    text: token('--faint'),
    gap: token('--sunken'),
    pointed: token('--line-strong'),
    font: `11px ${getComputedStyle(document.body).fontFamily}`,
  }
}

/** Calls `fn` when the theme, its contrast or the system's wish turns; returns its stop function. */
export function onTheme(fn: () => void): () => void {
  const root = new MutationObserver(fn)
  root.observe(document.documentElement, { attributes: true })
  const contrast = matchMedia('(prefers-contrast: more)')
  contrast.addEventListener('change', fn)
  return () => {
    root.disconnect()
    contrast.removeEventListener('change', fn)
  }
}
