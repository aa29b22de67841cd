import { Search, X } from 'lucide-react'
import { type ReactNode, useEffect, useState } from 'react'
import { cx } from '../lib/class-names.ts'
import { inputClass } from './field.tsx'

/** Frame of every page: a title row with its filter and its acts, then what it shows. */
export function Page({
  title,
  filter,
  actions,
  children,
}: {
  title: ReactNode
  filter?: ReactNode
  actions?: ReactNode
  children: ReactNode
}) {
  return (
    <div className="flex h-full min-w-0 flex-col bg-panel">
      <header className="flex min-h-13 flex-wrap items-center gap-x-4 gap-y-2 border-line border-b px-5 py-2">
        <div className="flex min-w-0 flex-wrap items-center gap-x-3">{title}</div>
        {filter}
        <div className="ml-auto flex items-center gap-2">{actions}</div>
      </header>
      {children}
    </div>
  )
}

export function PageTitle({ children, count }: { children: ReactNode; count?: string }) {
  return (
    <>
      <h1 className="font-semibold text-lg">{children}</h1>
      {count !== undefined && <span className="text-faint">{count}</span>}
    </>
  )
}

const SETTLE_MS = 120

/** The filter of a table. What is typed reaches `onFilter` a moment after the last key. */
export function FilterBox({
  value,
  onFilter,
  fields,
  example,
}: {
  value: string
  onFilter: (text: string) => void
  fields: readonly string[]
  /** A filter that shows how it is written. */
  example: string
}) {
  const [text, setText] = useState(value)
  useEffect(() => setText(value), [value])
  useEffect(() => {
    if (text === value) return
    const timer = setTimeout(() => onFilter(text), SETTLE_MS)
    return () => clearTimeout(timer)
  }, [text, value, onFilter])
  return (
    <search className="relative min-w-40 max-w-md flex-1">
      <Search
        size={14}
        aria-hidden
        className="-translate-y-1/2 pointer-events-none absolute top-1/2 left-2.5 text-faint"
      />
      <input
        data-filter
        aria-label="Filter"
        placeholder={`Filter, such as ${example}`}
        title={`Words match any column. Narrow with ${fields.map((f) => `${f}:`).join(' ')} and turn round with a leading -`}
        value={text}
        onChange={(e) => setText(e.target.value)}
        onKeyDown={(e) => {
          if (e.key !== 'Escape') return
          if (text === '') e.currentTarget.blur()
          setText('')
        }}
        spellCheck={false}
        className={cx(inputClass, 'h-8 pr-8 pl-8')}
      />
      {text === '' ? (
        <kbd className="-translate-y-1/2 absolute top-1/2 right-2 rounded border border-line px-1.5 text-faint text-xs">
          /
        </kbd>
      ) : (
        <button
          type="button"
          aria-label="Clear the filter"
          onClick={() => setText('')}
          className="-translate-y-1/2 absolute top-1/2 right-1 inline-flex size-6 items-center justify-center rounded text-faint hover:text-ink"
        >
          <X size={14} aria-hidden />
        </button>
      )}
    </search>
  )
}

/** Label and value pairs. */
export function Facts({ rows }: { rows: [label: string, value: ReactNode][] }) {
  return (
    <dl className="grid grid-cols-[minmax(7rem,max-content)_1fr] gap-x-5 gap-y-1.5">
      {rows.map(([label, value]) => (
        <div key={label} className="contents">
          <dt className="text-faint">{label}</dt>
          <dd className="min-w-0 break-words">{value}</dd>
        </div>
      ))}
    </dl>
  )
}

export function Card({
  title,
  children,
  className,
  actions,
}: {
  title?: string
  children: ReactNode
  className?: string
  actions?: ReactNode
}) {
  return (
    <section className={cx('min-w-0 rounded-lg border border-line bg-panel', className)}>
      {title !== undefined && (
        <header className="flex h-9 items-center justify-between border-line border-b px-4">
          <h2 className="font-medium text-dim text-xs">{title}</h2>
          {actions}
        </header>
      )}
      <div className="p-4">{children}</div>
    </section>
  )
}
