import { type ReactNode, useId } from 'react'
import { cx } from '../../lib/class-names.ts'
import { inputClass } from '../../ui/field.tsx'

/** An input or select as wide as what is in it. */
export const shortInput = cx(inputClass.replace('w-full', ''), 'h-8')

/** A heading and its settings, one line each. */
export function SettingGroup({ title, about, children }: { title: string; about?: ReactNode; children: ReactNode }) {
  return (
    <section className="min-w-0 rounded-lg border border-line bg-panel">
      <header className="border-line border-b px-4 py-2.5">
        <h2 className="font-medium">{title}</h2>
        {about !== undefined && <p className="mt-0.5 text-dim">{about}</p>}
      </header>
      <div className="divide-y divide-line px-4">{children}</div>
    </section>
  )
}

/** What it is and what it does at the left, what sets it at the right. */
export function Setting({
  id,
  label,
  hint,
  children,
}: {
  id?: string
  label: string
  hint?: ReactNode
  children: ReactNode
}) {
  return (
    <div id={id} className="flex flex-wrap items-center justify-between gap-x-6 gap-y-2 py-3">
      <div className="min-w-0 flex-1 basis-56">
        <p className="font-medium">{label}</p>
        {hint !== undefined && <p className="text-dim text-xs leading-5">{hint}</p>}
      </div>
      <div className="flex max-w-full min-w-0 flex-wrap items-center justify-end gap-2">{children}</div>
    </div>
  )
}

/** One of few, all seen at once; a radio group, so arrows move within it. */
export function Choice<T extends string | number>({
  label,
  value,
  of,
  onChoose,
}: {
  label: string
  value: T
  of: readonly [value: T, text: string][]
  onChoose: (value: T) => void
}) {
  const name = useId()
  return (
    <fieldset aria-label={label} className="inline-flex flex-wrap rounded-md border border-line bg-bg p-0.5">
      {of.map(([one, text]) => (
        <label
          key={one}
          className={cx(
            'relative flex h-7 items-center rounded px-2.5 transition-colors',
            'has-focus-visible:outline-2 has-focus-visible:outline-accent',
            one === value
              ? 'bg-panel font-medium text-ink shadow-[inset_0_0_0_1px_var(--line-strong)]'
              : 'text-dim hover:text-ink',
          )}
        >
          <input
            type="radio"
            name={name}
            checked={one === value}
            onChange={() => onChoose(one)}
            className="absolute size-px opacity-0"
          />
          {text}
        </label>
      ))}
    </fieldset>
  )
}

/** On or off, said in words beside it. */
export function Switch({ label, on, onChange }: { label: string; on: boolean; onChange: (on: boolean) => void }) {
  return (
    <button
      type="button"
      role="switch"
      aria-checked={on}
      aria-label={label}
      onClick={() => onChange(!on)}
      className="inline-flex h-7 items-center gap-2 rounded-md px-1.5 hover:bg-hover"
    >
      <span className="w-6 text-right text-dim text-xs">{on ? 'On' : 'Off'}</span>
      <span
        aria-hidden
        className={cx(
          'flex h-4 w-7 items-center rounded-full border px-0.5 transition-colors',
          on ? 'justify-end border-accent bg-accent' : 'justify-start border-line-strong bg-sunken',
        )}
      >
        <span className={cx('size-2.5 rounded-full', on ? 'bg-accent-ink' : 'bg-line-strong')} />
      </span>
    </button>
  )
}

/** Text that is only read, with what belongs to it. */
export const Told = ({ children, mono = false }: { children: ReactNode; mono?: boolean }) => (
  <span className={cx('min-w-0 break-all text-dim', mono && 'font-mono text-xs')}>{children}</span>
)
