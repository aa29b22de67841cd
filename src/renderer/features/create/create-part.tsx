import type { ReactNode } from 'react'

/** One numbered part of the page. */
export function CreatePart({
  number,
  title,
  aside,
  children,
}: {
  number?: number
  title: string
  aside?: ReactNode
  children: ReactNode
}) {
  const id = `create-${title.toLowerCase().replaceAll(/\W+/g, '-')}`
  return (
    <section aria-labelledby={id} className="min-w-0 rounded-lg border border-line bg-panel p-4">
      <header className="mb-3 flex flex-wrap items-center gap-2">
        {number !== undefined && (
          <span
            aria-hidden
            className="flex size-5 items-center justify-center rounded-full bg-sunken font-medium text-dim text-xs"
          >
            {number}
          </span>
        )}
        <h2 id={id} className="font-semibold">
          {title}
        </h2>
        {aside && <div className="ml-auto">{aside}</div>}
      </header>
      {children}
    </section>
  )
}
