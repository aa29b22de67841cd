import { Search, X } from 'lucide-react'
import { type KeyboardEvent, useEffect, useId, useRef, useState } from 'react'
import { BUILT_IN_VIEWS } from '../features/views/built-in-views.ts'
import { listValues } from '../features/views/list-values.ts'
import { PinnedViews, ViewsMenu } from '../features/views/views-menu.tsx'
import { cx } from '../lib/class-names.ts'
import { accepted, type Suggestion, type Suggestions, suggestionsFor, type ValuesOf } from '../lib/filter-suggest.ts'
import { useRoute } from '../routes.ts'
import { fleetStore } from '../state/fleet-store.ts'
import type { SavedView } from '../state/preference-shape.ts'
import { inputClass } from './field.tsx'

export interface FilterBoxProps {
  value: string
  onFilter: (text: string) => void
  fields: readonly string[]
  /** A filter that shows how it is written. */
  example: string
  /** What can stand behind a field. Absent = what the list of this page has now. */
  values?: (field: string) => readonly string[]
  /** Under which saved views are kept. Absent = the page; empty = this list has none. */
  list?: string
  /** Views the app brings. Absent = those of the list. */
  views?: readonly SavedView[]
}

/** The filter of a list: what can be typed comes up while typing, and filters are kept by name. */
export function FilterBox(props: FilterBoxProps) {
  const route = useRoute()
  const { value, onFilter, list = 'view' in route ? route.view : route.page } = props
  const builtIn = props.views ?? BUILT_IN_VIEWS[list] ?? []
  return (
    <search className="flex min-w-40 max-w-xl flex-1 flex-wrap items-center gap-x-1.5 gap-y-1">
      <FilterInput {...props} />
      {list !== '' && <ViewsMenu list={list} builtIn={builtIn} filter={value} onFilter={onFilter} />}
      {list !== '' && <PinnedViews list={list} filter={value} onFilter={onFilter} />}
    </search>
  )
}

/** The values of a column are looked up again after this long, not at each letter. */
const VALUES_MS = 3000
const CLOSED = { open: false, at: -1 }

function FilterInput({ value, onFilter, fields, example, values }: FilterBoxProps) {
  const { page } = useRoute()
  const id = useId()
  const input = useRef<HTMLInputElement>(null)
  const [text, setText] = useState(value)
  const [list, setList] = useState(CLOSED)
  const [suggestions, setSuggestions] = useState<Suggestions>()
  useEffect(() => setText(value), [value])

  const lookedUp = useRef({ field: '', at: 0, values: [] as ReturnType<ValuesOf> })
  const valuesOf: ValuesOf = (field) => {
    if (values) return values(field).map((v) => ({ value: v }))
    const [last, now] = [lookedUp.current, Date.now()]
    if (last.field === `${page} ${field}` && now - last.at < VALUES_MS) return last.values
    const found = listValues(page, field, fleetStore.getState(), now)
    lookedUp.current = { field: `${page} ${field}`, at: now, values: found }
    return found
  }
  const change = (next: string) => {
    setText(next)
    onFilter(next)
  }
  const suggest = (next: string, caret: number, open = true) => {
    const found = suggestionsFor(next, caret, fields, valuesOf)
    setSuggestions(found)
    setList({ open: open && found.items.length > 0, at: found.firstIsMeant ? 0 : -1 })
  }
  const accept = (item: Suggestion | undefined) => {
    if (!item || !suggestions) return
    const next = accepted(text, suggestions, item)
    change(next.text)
    suggest(next.text, next.caret, item.insert.endsWith(':'))
    requestAnimationFrame(() => input.current?.setSelectionRange(next.caret, next.caret))
  }
  const items = list.open ? (suggestions?.items ?? []) : []
  const onKeyDown = (event: KeyboardEvent<HTMLInputElement>) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (by !== undefined) {
      event.preventDefault()
      if (!list.open) suggest(text, event.currentTarget.selectionStart ?? text.length)
      else setList({ open: true, at: (list.at + by + items.length) % items.length })
    } else if (event.key === 'Enter' && list.open && items[list.at]) {
      event.preventDefault()
      accept(items[list.at])
    } else if (event.key === 'Enter') setList(CLOSED)
    else if (event.key === 'Escape') {
      event.preventDefault()
      if (list.open) setList(CLOSED)
      else if (text === '') event.currentTarget.blur()
      else change('')
    }
  }
  return (
    <div className="relative min-w-40 flex-1">
      <Search
        size={14}
        aria-hidden
        className="-translate-y-1/2 pointer-events-none absolute top-1/2 left-2.5 text-faint"
      />
      <input
        ref={input}
        data-filter
        role="combobox"
        aria-label="Filter"
        aria-autocomplete="list"
        aria-expanded={list.open}
        aria-controls={`${id}-list`}
        aria-activedescendant={list.open && list.at >= 0 ? `${id}-${list.at}` : undefined}
        placeholder={`Filter, such as ${example}`}
        title={`Words match any column. Narrow with ${fields.map((f) => `${f}:`).join(' ')} and turn round with a leading -`}
        value={text}
        onChange={(e) => {
          change(e.target.value)
          suggest(e.target.value, e.target.selectionStart ?? e.target.value.length, e.target.value !== '')
        }}
        onKeyDown={onKeyDown}
        onBlur={() => setList(CLOSED)}
        spellCheck={false}
        autoComplete="off"
        className={cx(inputClass, 'h-8 pr-8 pl-8')}
      />
      {text === '' ? (
        <kbd className="-translate-y-1/2 pointer-events-none absolute top-1/2 right-2 rounded border border-line px-1.5 text-faint text-xs">
          /
        </kbd>
      ) : (
        <button
          type="button"
          aria-label="Clear the filter"
          onClick={() => change('')}
          className="-translate-y-1/2 absolute top-1/2 right-1 inline-flex size-6 items-center justify-center rounded text-faint hover:text-ink"
        >
          <X size={14} aria-hidden />
        </button>
      )}
      <SuggestionList id={id} open={list.open} items={items} at={list.at} onAccept={accept} />
    </div>
  )
}

interface SuggestionListProps {
  id: string
  open: boolean
  items: readonly Suggestion[]
  at: number
  onAccept: (item: Suggestion) => void
}

function SuggestionList({ id, open, items, at, onAccept }: SuggestionListProps) {
  return (
    <div
      id={`${id}-list`}
      role="listbox"
      aria-label="What can be typed"
      hidden={!open}
      className="absolute top-full left-0 z-30 mt-1 w-72 max-w-full rounded-lg border border-line bg-panel p-1 shadow-pop"
    >
      {items.map((item, i) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the box above
        <div
          key={item.insert}
          id={`${id}-${i}`}
          role="option"
          tabIndex={-1}
          aria-selected={i === at}
          // the box keeps the focus
          onPointerDown={(event) => event.preventDefault()}
          onClick={() => onAccept(item)}
          className={cx('flex h-7 items-center gap-3 rounded-md px-2 hover:bg-hover', i === at && 'bg-hover')}
        >
          <span className="truncate">{item.text}</span>
          <span className="ml-auto shrink-0 text-faint text-xs">{item.hint}</span>
        </div>
      ))}
    </div>
  )
}
