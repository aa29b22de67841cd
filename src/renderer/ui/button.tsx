import type { ButtonHTMLAttributes, Ref } from 'react'
import { cx } from '../lib/class-names.ts'

const LOOK = {
  primary: 'bg-accent text-accent-ink hover:bg-accent-hover border-transparent font-medium',
  plain: 'bg-panel text-ink border-line hover:bg-hover',
  quiet: 'bg-transparent text-dim border-transparent hover:bg-hover hover:text-ink',
  danger: 'bg-bad text-panel border-transparent hover:bg-bad-hover font-medium',
} as const

export interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  look?: keyof typeof LOOK
  size?: 'small' | 'normal' | 'large'
  ref?: Ref<HTMLButtonElement>
}

const SIZE = { small: 'h-6 px-2 text-xs gap-1', normal: 'h-8 px-3 gap-1.5', large: 'h-10 px-4 text-base gap-2' }

/** The class names of a button, for links that look like one. */
export const buttonClass = (look: keyof typeof LOOK = 'plain', size: keyof typeof SIZE = 'normal') =>
  cx(
    'inline-flex shrink-0 items-center justify-center whitespace-nowrap rounded-md border transition-colors',
    'disabled:opacity-50 disabled:pointer-events-none aria-disabled:opacity-50 active:translate-y-px',
    LOOK[look],
    SIZE[size],
  )

export function Button({ look, size, className, type = 'button', ...rest }: ButtonProps) {
  return <button type={type} className={cx(buttonClass(look, size), className)} {...rest} />
}

/** A square button that shows only an icon; its label is read and shown as a tip. */
export function IconButton({
  label,
  className,
  ...rest
}: Omit<ButtonProps, 'look' | 'size' | 'aria-label'> & { label: string }) {
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      className={cx(
        'inline-flex size-7 shrink-0 items-center justify-center rounded-md text-dim transition-colors',
        'hover:bg-hover hover:text-ink disabled:opacity-40 data-[state=open]:bg-hover data-[state=open]:text-ink',
        className,
      )}
      {...rest}
    />
  )
}
