import { useState } from 'react'

/** What has the focus and may have it again: for an item of a menu what opened the menu, for anything in a row the row. */
function opener(): HTMLElement | null {
  let from = document.activeElement
  for (let menu = from?.closest('[role=menu]'); menu; menu = from?.closest('[role=menu]'))
    from = document.getElementById(menu.getAttribute('aria-labelledby') ?? '')
  return from?.closest<HTMLElement>('[data-row]') ?? (from instanceof HTMLElement ? from : null)
}

/** Gives the focus back to where it came from once a sheet is closed, unless something took it. */
export function useFocusReturn(open: boolean): (event: Event) => void {
  const [was, setWas] = useState({ open: false, from: null as HTMLElement | null })
  // Here and in no effect: a field of the sheet may take the focus before effects run.
  if (open !== was.open) setWas({ open, from: open ? opener() : was.from })
  return (event) => {
    event.preventDefault()
    if (document.activeElement === document.body && was.from?.isConnected) was.from.focus({ preventScroll: true })
  }
}
