import { ChevronRight } from 'lucide-react'
import { DropdownMenu as Radix } from 'radix-ui'
import {
  cloneElement,
  type HTMLAttributes,
  type ReactElement,
  type ReactNode,
  type Ref,
  type RefObject,
  useId,
  useImperativeHandle,
  useRef,
  useState,
} from 'react'
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

type TriggerProps = HTMLAttributes<HTMLElement> & { ref?: Ref<HTMLButtonElement>; 'data-state'?: 'open' | 'closed' }

export interface MenuProps {
  trigger: ReactElement<TriggerProps>
  /** A function is asked once it opens. */
  items: readonly MenuEntry[] | (() => readonly MenuEntry[])
  /** Absent = the trigger alone opens it. */
  open?: boolean
  onOpenChange?: (open: boolean) => void
  /** Runs when it closed, in place of giving the focus back to the trigger. */
  onClosed?: () => void
}

const CONTENT =
  'z-50 max-h-[var(--radix-dropdown-menu-content-available-height)] min-w-48 overflow-y-auto rounded-lg border border-line bg-panel p-1 shadow-pop'

/** A menu behind the one element given as its trigger. A `separator` stands between groups. While it is closed there is only the trigger: a table has one in each row. */
export function Menu({ trigger, items, open: told, onOpenChange, onClosed }: MenuProps) {
  const [own, setOwn] = useState(false)
  const open = told ?? own
  const button = useRef<HTMLButtonElement>(null)
  const id = useId()
  const setOpen = (next: boolean) => {
    setOwn(next)
    onOpenChange?.(next)
  }
  const asTrigger: TriggerProps = {
    ...{ id, ref: button, 'aria-haspopup': 'menu', 'aria-expanded': open, 'data-state': open ? 'open' : 'closed' },
    ...(open ? { 'aria-controls': `${id}menu` } : {}),
    onPointerDown: (event) => {
      if (event.button !== 0 || event.ctrlKey) return
      if (!open) event.preventDefault()
      setOpen(!open)
    },
    onClick: (event) => {
      // By key or by a program: what points has opened it when it was pressed down.
      if (event.detail === 0) setOpen(!open)
    },
    onKeyDown: (event) => {
      if (event.key !== 'ArrowDown') return
      event.preventDefault()
      setOpen(true)
    },
  }
  return (
    <>
      {cloneElement(trigger, asTrigger)}
      {open && <OpenMenu {...{ id, button, items, setOpen }} {...(onClosed ? { onClosed } : {})} />}
    </>
  )
}

interface OpenMenuProps extends Pick<MenuProps, 'items' | 'onClosed'> {
  id: string
  button: RefObject<HTMLButtonElement | null>
  setOpen: (open: boolean) => void
}

function OpenMenu({ id, button, items, setOpen, onClosed }: OpenMenuProps) {
  const isElsewhere = useRef(false)
  return (
    <Radix.Root open modal={false} onOpenChange={setOpen}>
      <Radix.Trigger asChild>
        <Stands for={button} />
      </Radix.Trigger>
      <Radix.Portal>
        <Radix.Content
          id={`${id}menu`}
          aria-labelledby={id}
          align="end"
          sideOffset={4}
          className={cx(CONTENT, 'animate-[rise_100ms_ease-out]')}
          onInteractOutside={() => {
            isElsewhere.current = true
          }}
          onCloseAutoFocus={(event) => {
            // Its place among the menu's own parts is gone by now.
            event.preventDefault()
            if (onClosed) onClosed()
            else if (!isElsewhere.current) button.current?.focus()
          }}
        >
          <MenuRows items={typeof items === 'function' ? items() : items} />
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  )
}

/** Draws nothing: the menu stands at, and gives the focus back to, an element that was there before it. */
function Stands({ for: element, ref }: { for: RefObject<HTMLButtonElement | null>; ref?: Ref<HTMLButtonElement> }) {
  useImperativeHandle(ref, () => element.current as HTMLButtonElement, [element])
  return null
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
