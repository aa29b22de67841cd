import { useCallback, useEffect, useRef, useState } from 'react'
import { formatBytes, plural } from '../../lib/format.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { type LogPage, linesWith, logLines, pageAfter, pageBefore } from './log-pages.ts'
import { type LogProgress, readLog } from './log-reader.ts'
import { consoleWire } from './open-consoles.ts'

interface ReadLogProps {
  vmId: string
  name: string
  /** Where the log ended when this was opened. */
  end: bigint
  onClose: () => void
  onSave: () => void
}

interface Shown extends LogPage {
  lines: string[]
  /** The oldest byte its host keeps. */
  head: bigint
}

/** The log its host keeps of a console, a page at a time from the newest; one page is held. */
export function ReadLog({ vmId, name, end, onClose, onSave }: ReadLogProps) {
  const [shown, setShown] = useState<Shown>()
  const [why, setWhy] = useState('')
  const [reading, setReading] = useState('')
  const [words, setWords] = useState('')
  const stop = useRef<AbortController>(undefined)
  /** Reads pages until one is wanted or there is no further; the last that was read is shown. */
  const read = useCallback(
    async (first: LogPage | undefined, isWanted: (lines: string[]) => boolean) => {
      stop.current?.abort(new Error('another page is read'))
      const mine = new AbortController()
      stop.current = mine
      setWhy('')
      try {
        for (let page = first; page && !mine.signal.aborted; ) {
          const { from } = page
          const onWait = (why: string) =>
            setReading(why === '' ? `Reading from ${formatBytes(from)} on…` : `Waiting: ${why}`)
          const got = await readPage(vmId, page, { signal: mine.signal, onWait })
          setShown(got)
          page = isWanted(got.lines) ? undefined : pageBefore(got.from, got.head)
        }
      } catch (error) {
        if (!mine.signal.aborted) setWhy(error instanceof Error ? error.message : String(error))
      } finally {
        if (stop.current === mine) setReading('')
      }
    },
    [vmId],
  )
  useEffect(() => {
    void read(pageBefore(end, 0n), () => true)
    return () => stop.current?.abort(new Error('closed'))
  }, [read, end])
  const list = useRef<HTMLElement>(null)
  // a page is read from its end, as it is nearest to what was shown before
  useEffect(() => {
    if (shown) list.current?.scrollTo({ top: list.current.scrollHeight })
  }, [shown])
  const found = linesWith(shown?.lines ?? [], words)
  const earlier = shown && pageBefore(shown.from, shown.head)
  const later = shown && pageAfter(shown.until, end)
  return (
    <Dialog
      open
      wide
      onClose={onClose}
      title={`Log of ${name}`}
      description={
        shown
          ? `${formatBytes(shown.from - shown.head)} to ${formatBytes(shown.until - shown.head)} of the ${formatBytes(end - shown.head)} its host keeps, as plain text.`
          : 'What its host keeps of this console, as plain text.'
      }
      footer={
        <>
          <Button onClick={onSave}>Save the log…</Button>
          <Button disabled={!earlier} onClick={() => void read(earlier, () => true)}>
            Earlier
          </Button>
          <Button disabled={!later} onClick={() => void read(later, () => true)}>
            Later
          </Button>
          <Button look="primary" onClick={onClose}>
            Done
          </Button>
        </>
      }
    >
      <div className="flex items-start gap-2">
        <div className="min-w-0 flex-1">
          <TextField
            label="Find"
            value={words}
            placeholder="part of a line"
            hint={words === '' ? undefined : `${plural(found.length, 'line')} here`}
            onChange={(e) => setWords(e.target.value)}
          />
        </div>
        <Button
          className="mt-5"
          disabled={words.trim() === '' || !earlier}
          onClick={() => void read(earlier, (lines) => linesWith(lines, words).length > 0)}
        >
          Find earlier
        </Button>
      </div>
      <p role="status" className="min-h-5 text-dim text-xs">
        {why ? <span className="text-bad">It could not be read: {why}</span> : reading}
      </p>
      <section
        ref={list}
        aria-label={`Lines of the log of ${name}`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls and holds no control has to be reached by keys
        tabIndex={0}
        className="h-[45vh] overflow-auto rounded-md border border-line bg-bg"
      >
        <ol className="py-2 font-mono text-xs leading-5">
          {found.map(({ number, text }) => (
            <li key={number} value={number} className="flex gap-3 px-3">
              <span className="w-10 shrink-0 select-none text-right text-faint">{number}</span>
              <span className="whitespace-pre-wrap break-all">{text === '' ? '\u00a0' : text}</span>
            </li>
          ))}
        </ol>
        {shown && found.length === 0 && <p className="px-3 pb-3 text-dim">No line here has it.</p>}
        {end === 0n && <p className="px-3 pb-3 text-dim">It has printed nothing yet.</p>}
      </section>
    </Dialog>
  )
}

interface PageReading {
  signal: AbortSignal
  /** Of why nothing comes; empty = it is being read. */
  onWait: (why: string) => void
}

async function readPage(vmId: string, page: LogPage, { signal, onWait }: PageReading): Promise<Shown> {
  const parts: Uint8Array[] = []
  const write = async (bytes: Uint8Array) => void parts.push(bytes)
  onWait('')
  const onProgress = ({ waiting }: LogProgress) => signal.aborted || onWait(waiting)
  const { first, head } = await readLog({ vmId, line: consoleWire, page, write, onProgress, signal })
  return {
    from: first,
    // The host may have let go of all of it meanwhile.
    until: page.until > first ? page.until : first,
    head,
    lines: logLines(new Uint8Array(await new Blob(parts as BlobPart[]).arrayBuffer())),
  }
}
