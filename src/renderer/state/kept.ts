/** What this window keeps across reloads. A storage that is full or switched off keeps nothing, and nothing else breaks. */
export function readKept(key: string): string | null {
  try {
    return localStorage.getItem(key)
  } catch {
    return null
  }
}

export function keep(key: string, value: string): void {
  try {
    localStorage.setItem(key, value)
  } catch {
    // the value holds for as long as the window is open
  }
}
