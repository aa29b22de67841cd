import { RotateCcw } from 'lucide-react'
import { type KeyboardEvent, useState } from 'react'
import { setPreference, usePreferences } from '../state/preferences.ts'
import { IconButton } from './button.tsx'
import { holderOf, isRemappable, KEY_TABLE, type KeyRow, keyOf, keyText } from './key-table.ts'

/** All keys by where they act. A plain one can be given another key: press its button, then the new key. */
export function KeyList() {
  return (
    <div className="gap-x-8 sm:columns-2">
      {KEY_TABLE.map(({ title, rows }) => (
        <section key={title} className="mb-4 break-inside-avoid">
          <h3 className="mb-1.5 font-medium text-faint text-xs">{title}</h3>
          <ul className="grid">
            {rows.map((row) => (
              <li key={row.id} className="flex min-h-7 items-center justify-between gap-4">
                <span>{row.text}</span>
                {isRemappable(row) ? <OwnKey row={row} /> : <Shown row={row} />}
              </li>
            ))}
          </ul>
        </section>
      ))}
    </div>
  )
}

const Shown = ({ row }: { row: KeyRow }) => (
  <span className="whitespace-nowrap font-mono text-dim text-xs">
    {[row.key, row.also].flatMap((key) => (key ? [keyText(key)] : [])).join(' · ')}
  </span>
)

function OwnKey({ row }: { row: KeyRow }) {
  const own = usePreferences((p) => p.keys)
  const [waiting, setWaiting] = useState(false)
  const [refused, setRefused] = useState('')
  const prefix = row.key.includes(' ') ? `${row.key.split(' ')[0]} ` : ''
  const onKeyDown = (event: KeyboardEvent) => {
    if (!waiting || event.key.length !== 1 || event.ctrlKey || event.metaKey || event.altKey || event.key === ' ')
      return
    event.preventDefault()
    event.stopPropagation()
    const key = `${prefix}${event.key.toLowerCase()}`
    const holder = holderOf(key, row.id, own)
    setWaiting(holder !== undefined)
    setRefused(holder ? `${keyText(key)} is ${holder.text}` : '')
    if (!holder) giveKey(row, key)
  }
  const moved = own[row.id] !== undefined
  return (
    <span className="flex items-center gap-1">
      {refused && <span className="text-warn text-xs">{refused}</span>}
      {moved && (
        <IconButton label={`${row.text}: back to ${keyText(row.key)}`} className="size-6" onClick={() => giveKey(row)}>
          <RotateCcw size={12} aria-hidden />
        </IconButton>
      )}
      <button
        type="button"
        aria-label={waiting ? `${row.text}: press the new key` : `${row.text}: ${keyText(keyOf(row.id, own))}. Change`}
        title="Give it another key"
        onClick={() => setWaiting(true)}
        onBlur={() => {
          setWaiting(false)
          setRefused('')
        }}
        onKeyDown={onKeyDown}
        className="h-6 min-w-7 whitespace-nowrap rounded border border-line px-1.5 font-mono text-dim text-xs hover:border-line-strong hover:text-ink"
      >
        {waiting ? `${prefix}…` : keyText(keyOf(row.id, own))}
      </button>
    </span>
  )
}

/** Without a key: the shipped one again. */
function giveKey({ id, key: shipped }: KeyRow, key = shipped): void {
  const { [id]: _, ...others } = usePreferences.getState().keys
  setPreference('keys', key === shipped ? others : { ...others, [id]: key })
}
