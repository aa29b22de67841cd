import type { LucideIcon } from 'lucide-react'
import type { ReactNode } from 'react'

export function EmptyState({ icon: Icon, title, children }: { icon: LucideIcon; title: string; children?: ReactNode }) {
  return (
    <div className="flex h-full flex-col items-center justify-center gap-3 p-8 text-center">
      <span className="flex size-12 items-center justify-center rounded-xl border border-line bg-panel text-faint">
        <Icon size={22} aria-hidden strokeWidth={1.6} />
      </span>
      <p className="font-medium text-base">{title}</p>
      <div className="flex max-w-md flex-col items-center gap-3 text-dim">{children}</div>
    </div>
  )
}
