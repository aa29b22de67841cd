/** Where something is kept: over restarts, or as long as its window. */
type Where = 'app' | 'window'

const storage = (where: Where): Storage => (where === 'app' ? localStorage : sessionStorage)

/** What this window keeps across reloads. A storage that is full or switched off keeps nothing, and nothing else breaks. */
export function readKept(key: string, where: Where = 'app'): string | null {
  try {
    return storage(where).getItem(key)
  } catch {
    return null
  }
}

export function keep(key: string, value: string, where: Where = 'app'): void {
  try {
    storage(where).setItem(key, value)
  } catch {
    // the value holds for as long as the window is open
  }
}

export function forget(key: string, where: Where = 'app'): void {
  try {
    storage(where).removeItem(key)
  } catch {
    // nothing was kept
  }
}
