import { useState } from 'react'
import { formatTime, plural } from '../../lib/format.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { toastDone } from '../../ui/toasts.tsx'
import type { OpenConsole } from './open-consoles.ts'
import { terminalLines } from './terminal-text.ts'

/** Lines in the dialog at once. */
const PAGE_LINES = 2000

/** The text of a view as it was at a moment: plain, selectable, with line numbers, for readers of screens and for quoting. */
export function ReadAsText({ console, name, onClose }: { console: OpenConsole; name: string; onClose: () => void }) {
  const take = () => ({ lines: terminalLines(console.terminal), at: new Date() })
  const [{ lines, at }, setSnapshot] = useState(take)
  const first = Math.max(0, lines.length - PAGE_LINES)
  return (
    <Dialog
      open
      wide
      onClose={onClose}
      title={`Text of ${name}`}
      description={`${plural(lines.length, 'line')} as of ${formatTime(at, new Date())}. It does not change by itself.${
        first > 0 ? ` The last ${PAGE_LINES} are shown; Copy takes all.` : ''
      }`}
      footer={
        <>
          <Button onClick={() => setSnapshot(take())}>Update</Button>
          <Button
            onClick={() =>
              void navigator.clipboard
                .writeText(lines.join('\n'))
                .then(() => toastDone(`Copied ${plural(lines.length, 'line')} of ${name}`))
            }
          >
            Copy all
          </Button>
          <Button look="primary" onClick={onClose}>
            Done
          </Button>
        </>
      }
    >
      <section
        aria-label={`Lines of ${name}`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls and holds no control has to be reached by keys
        tabIndex={0}
        className="max-h-[50vh] overflow-auto rounded-md border border-line bg-bg"
      >
        <ol className="py-2 font-mono text-xs leading-5">
          {lines.slice(first).map((line, i) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a line is its number
            <li key={first + i} value={first + i + 1} className="flex gap-3 px-3">
              <span className="w-10 shrink-0 select-none text-right text-faint">{first + i + 1}</span>
              <span className="whitespace-pre-wrap break-all">{line === '' ? '\u00a0' : line}</span>
            </li>
          ))}
        </ol>
        {lines.length === 0 && <p className="px-3 pb-3 text-dim">It has printed nothing yet.</p>}
      </section>
    </Dialog>
  )
}
