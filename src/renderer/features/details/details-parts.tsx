import type { ReactNode } from 'react'

/** One part of the details, under its own small title. */
export const Part = ({ title, children }: { title: string; children: ReactNode }) => (
  <section className="min-w-0 border-line border-t pt-3">
    <h3 className="mb-2 font-medium text-dim text-xs">{title}</h3>
    {children}
  </section>
)
