import { ArrowDown, ArrowUp, Columns3 } from 'lucide-react'
import { Popover as Radix } from 'radix-ui'
import { chooseColumns, movedColumn, orderColumns, useColumnChoice } from '../state/table-columns.ts'
import { Button, IconButton } from './button.tsx'
import type { TableColumn } from './table-types.ts'

/** Which columns a table shows, and in which order; kept for the next time. */
export function ColumnsMenu<T>({ name, columns }: { name: string; columns: TableColumn<T>[] }) {
  const choice = useColumnChoice(name)
  const movable = orderColumns(columns, choice).filter((c) => !c.fixed)
  const show = (id: string, on: boolean) => {
    const hidden = choice.hidden.filter((one) => one !== id)
    chooseColumns(name, { ...choice, hidden: on ? hidden : [...hidden, id] })
  }
  return (
    <Radix.Root>
      <Radix.Trigger asChild>
        <IconButton label="Choose columns" className="-my-1 size-6">
          <Columns3 size={14} aria-hidden />
        </IconButton>
      </Radix.Trigger>
      <Radix.Portal>
        <Radix.Content
          align="end"
          sideOffset={4}
          aria-label="Columns"
          className="z-50 w-64 animate-[rise_100ms_ease-out] rounded-lg border border-line bg-panel p-2 text-ink shadow-pop"
        >
          <ul className="max-h-[60vh] overflow-y-auto">
            {movable.map((c, at) => (
              <li key={c.id} className="flex h-8 items-center gap-1 rounded-md pl-2 hover:bg-hover">
                <label className="flex min-w-0 flex-1 items-center gap-2">
                  <input
                    type="checkbox"
                    checked={!choice.hidden.includes(c.id)}
                    onChange={(e) => show(c.id, e.target.checked)}
                    className="size-4 accent-accent"
                  />
                  <span className="truncate">{c.header}</span>
                </label>
                <IconButton
                  label={`Move ${c.header} before`}
                  className="size-6"
                  disabled={at === 0}
                  onClick={() => chooseColumns(name, movedColumn(columns, choice, c.id, -1))}
                >
                  <ArrowUp size={13} aria-hidden />
                </IconButton>
                <IconButton
                  label={`Move ${c.header} behind`}
                  className="size-6"
                  disabled={at === movable.length - 1}
                  onClick={() => chooseColumns(name, movedColumn(columns, choice, c.id, 1))}
                >
                  <ArrowDown size={13} aria-hidden />
                </IconButton>
              </li>
            ))}
          </ul>
          <div className="mt-1 border-line border-t pt-2">
            <Button size="small" look="quiet" onClick={() => chooseColumns(name, undefined)}>
              As it comes
            </Button>
          </div>
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  )
}
