import {
  type InputHTMLAttributes,
  type ReactNode,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
  useId,
} from 'react'
import { cx } from '../lib/class-names.ts'

export const inputClass = cx(
  'w-full rounded-md border border-line-strong bg-panel px-2.5 text-ink outline-none transition-colors',
  'hover:border-line-strong focus-visible:border-accent focus-visible:ring-2 focus-visible:ring-accent/30',
  'aria-invalid:border-bad aria-invalid:focus-visible:ring-bad/30 disabled:opacity-60',
)

interface FieldFrame {
  label: string
  /** What is wrong with it now, beside the field. */
  problem?: string | undefined
  hint?: ReactNode
}

function Frame({ id, label, problem, hint, children }: FieldFrame & { id: string; children: ReactNode }) {
  return (
    <div className="min-w-0">
      <label htmlFor={id} className="mb-1 block font-medium text-dim text-xs">
        {label}
      </label>
      {children}
      <p
        id={`${id}-note`}
        className={cx(
          'mt-1 line-clamp-3 min-h-4 text-xs leading-4 first-letter:uppercase',
          problem ? 'text-bad' : 'text-faint',
        )}
      >
        {problem ?? hint}
      </p>
    </div>
  )
}

const aria = (id: string, problem: string | undefined) => ({
  id,
  'aria-describedby': `${id}-note`,
  ...(problem ? { 'aria-invalid': true as const } : {}),
})

export function TextField({
  label,
  problem,
  hint,
  className,
  ...rest
}: FieldFrame & InputHTMLAttributes<HTMLInputElement>) {
  const id = useId()
  return (
    <Frame id={id} label={label} problem={problem} hint={hint}>
      <input
        autoComplete="off"
        autoCorrect="off"
        autoCapitalize="off"
        spellCheck={false}
        {...aria(id, problem)}
        className={cx(inputClass, 'h-8', className)}
        {...rest}
      />
    </Frame>
  )
}

export function TextArea({
  label,
  problem,
  hint,
  className,
  ...rest
}: FieldFrame & TextareaHTMLAttributes<HTMLTextAreaElement>) {
  const id = useId()
  return (
    <Frame id={id} label={label} problem={problem} hint={hint}>
      <textarea
        spellCheck={false}
        {...aria(id, problem)}
        className={cx(inputClass, 'block resize-y py-1.5 font-mono text-xs leading-5', className)}
        {...rest}
      />
    </Frame>
  )
}

export function SelectField({ label, problem, hint, ...rest }: FieldFrame & SelectHTMLAttributes<HTMLSelectElement>) {
  const id = useId()
  return (
    <Frame id={id} label={label} problem={problem} hint={hint}>
      <select {...aria(id, problem)} className={cx(inputClass, 'h-8')} {...rest} />
    </Frame>
  )
}

export function CheckField({
  label,
  hint,
  ...rest
}: { label: string; hint?: ReactNode } & InputHTMLAttributes<HTMLInputElement>) {
  const id = useId()
  return (
    <div className="flex items-start gap-2">
      <input id={id} type="checkbox" className="mt-0.5 size-4 accent-accent" {...rest} />
      <label htmlFor={id}>
        {label}
        {hint && <span className="block text-faint text-xs">{hint}</span>}
      </label>
    </div>
  )
}
