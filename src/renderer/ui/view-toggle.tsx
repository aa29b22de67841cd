import { cx } from '../lib/class-names.ts'

/** A choice between ways to show the same thing, all of them seen at once. */
export function ViewToggle<T extends string>({
  label,
  views,
  value,
  onView,
}: {
  label: string
  views: readonly { id: T; label: string }[]
  value: T
  onView: (view: T) => void
}) {
  return (
    <fieldset aria-label={label} className="inline-flex h-8 shrink-0 rounded-md border border-line bg-bg p-0.5">
      {views.map((view) => (
        <button
          key={view.id}
          type="button"
          aria-pressed={view.id === value}
          onClick={() => onView(view.id)}
          className={cx(
            'h-full rounded px-2.5 transition-colors',
            view.id === value
              ? 'bg-panel font-medium text-ink shadow-[inset_0_0_0_1px_var(--line)]'
              : 'text-dim hover:text-ink',
          )}
        >
          {view.label}
        </button>
      ))}
    </fieldset>
  )
}
