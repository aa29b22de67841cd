import { type RefObject, useEffect, useState } from 'react'

/** Whether any of the element can be seen, the window itself among it: what cannot does no work. */
export function useOnScreen(ref: RefObject<Element | null>): boolean {
  const [isInView, setInView] = useState(false)
  const [isShown, setShown] = useState(() => !document.hidden)
  useEffect(() => {
    const seen = new IntersectionObserver((entries) => setInView(entries.at(-1)?.isIntersecting ?? false))
    if (ref.current) seen.observe(ref.current)
    const turned = () => setShown(!document.hidden)
    document.addEventListener('visibilitychange', turned)
    return () => {
      seen.disconnect()
      document.removeEventListener('visibilitychange', turned)
    }
  }, [ref])
  return isInView && isShown
}
