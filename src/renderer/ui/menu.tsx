import { DropdownMenu as Radix } from 'radix-ui'
import type { ReactNode } from 'react'
import { cx } from '../lib/class-names.ts'

export interface MenuItem {
  label: string
  icon?: ReactNode
  /** Shown at the right, so that it is learnt. */
  keys?: string
  danger?: boolean
  disabled?: boolean
  checked?: boolean
  onSelect: () => void
}

/** A menu behind the one element given as its trigger. A `separator` stands between groups. */
export function Menu({ trigger, items }: { trigger: ReactNode; items: (MenuItem | 'separator')[] }) {
  return (
    <Radix.Root modal={false}>
      <Radix.Trigger asChild>{trigger}</Radix.Trigger>
      <Radix.Portal>
        <Radix.Content
          align="end"
          sideOffset={4}
          className="z-50 min-w-48 animate-[rise_100ms_ease-out] rounded-lg border border-line bg-panel p-1 shadow-pop"
        >
          {items.map((item, i) =>
            item === 'separator' ? (
              // biome-ignore lint/suspicious/noArrayIndexKey: separators have no name of their own
              <Radix.Separator key={`separator-${i}`} className="mx-2 my-1 h-px bg-line" />
            ) : (
              <MenuRow key={item.label} item={item} />
            ),
          )}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  )
}

function MenuRow({ item }: { item: MenuItem }) {
  const className = cx(
    'flex h-8 select-none items-center gap-2 rounded-md px-2 outline-none data-[highlighted]:bg-hover',
    'data-[disabled]:opacity-45',
    item.danger ? 'text-bad' : 'text-ink',
  )
  const content = (
    <>
      <span className="flex w-4 justify-center" aria-hidden>
        {item.checked === undefined ? item.icon : item.checked ? '✓' : ''}
      </span>
      <span className="flex-1">{item.label}</span>
      {item.keys && <span className="ml-6 text-faint text-xs">{item.keys}</span>}
    </>
  )
  return item.checked === undefined ? (
    <Radix.Item className={className} disabled={item.disabled ?? false} onSelect={item.onSelect}>
      {content}
    </Radix.Item>
  ) : (
    <Radix.CheckboxItem
      className={className}
      checked={item.checked}
      disabled={item.disabled ?? false}
      onSelect={item.onSelect}
    >
      {content}
    </Radix.CheckboxItem>
  )
}
