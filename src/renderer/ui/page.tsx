import type { ReactNode } from 'react'
import { cx } from '../lib/class-names.ts'

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
        <div className="ml-auto flex min-w-0 flex-wrap items-center justify-end gap-2">{actions}</div>
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
