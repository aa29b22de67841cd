import { ChevronRight } from 'lucide-react'
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

/** More items behind one, or words that are no item. */
export type MenuEntry = MenuItem | 'separator' | { note: string } | { submenu: string; items: readonly MenuEntry[] }

interface MenuProps {
  trigger: ReactNode
  items: readonly MenuEntry[]
  /** Absent = the trigger alone opens it. */
  open?: boolean
  onOpenChange?: (open: boolean) => void
  /** Runs when it closed, in place of giving the focus back to the trigger. */
  onClosed?: () => void
}

const CONTENT =
  'z-50 max-h-[var(--radix-dropdown-menu-content-available-height)] min-w-48 overflow-y-auto rounded-lg border border-line bg-panel p-1 shadow-pop'

/** A menu behind the one element given as its trigger. A `separator` stands between groups. */
export function Menu({ trigger, items, open, onOpenChange, onClosed }: MenuProps) {
  return (
    <Radix.Root
      modal={false}
      {...(open === undefined ? {} : { open })}
      {...(onOpenChange === undefined ? {} : { onOpenChange })}
    >
      <Radix.Trigger asChild>{trigger}</Radix.Trigger>
      <Radix.Portal>
        <Radix.Content
          align="end"
          sideOffset={4}
          className={cx(CONTENT, 'animate-[rise_100ms_ease-out]')}
          onCloseAutoFocus={(event) => {
            if (!onClosed) return
            event.preventDefault()
            onClosed()
          }}
        >
          <MenuRows items={items} />
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  )
}

function MenuRows({ items }: { items: readonly MenuEntry[] }) {
  return items.map((item, i) => {
    // biome-ignore lint/suspicious/noArrayIndexKey: separators have no name of their own
    if (item === 'separator') return <Radix.Separator key={`separator-${i}`} className="mx-2 my-1 h-px bg-line" />
    if ('note' in item)
      return (
        <Radix.Label key={item.note} className="max-w-72 px-2 py-1.5 text-faint text-xs">
          {item.note}
        </Radix.Label>
      )
    if ('submenu' in item)
      return (
        <Radix.Sub key={item.submenu}>
          <Radix.SubTrigger className="flex h-8 select-none items-center gap-2 rounded-md px-2 outline-none data-[highlighted]:bg-hover data-[state=open]:bg-hover">
            <span className="w-4" aria-hidden />
            <span className="flex-1">{item.submenu}</span>
            <ChevronRight size={14} aria-hidden className="text-faint" />
          </Radix.SubTrigger>
          <Radix.Portal>
            <Radix.SubContent sideOffset={2} className={CONTENT}>
              <MenuRows items={item.items} />
            </Radix.SubContent>
          </Radix.Portal>
        </Radix.Sub>
      )
    return <MenuRow key={item.label} item={item} />
  })
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
