/** Between two tellings while the window is seen, and while it is not. */
const SEEN_MS = 100
const HIDDEN_MS = 1000

/** Runs what is asked for at the next frame, again only after a moment, and once a second while the window is hidden. */
export function framePace(): (run: () => void) => void {
  let ranAt = Number.NEGATIVE_INFINITY
  let waiting = false
  return (run) => {
    if (waiting) return
    waiting = true
    const go = () => {
      if (!waiting) return
      waiting = false
      ranAt = performance.now()
      run()
    }
    // A frame that was asked for never comes once the window is hidden.
    setTimeout(go, HIDDEN_MS)
    if (!document.hidden) setTimeout(() => requestAnimationFrame(go), ranAt + SEEN_MS - performance.now())
  }
}
