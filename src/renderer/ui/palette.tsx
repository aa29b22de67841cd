import { Command } from 'cmdk'
import { Search } from 'lucide-react'
import { Dialog as Radix } from 'radix-ui'
import { type KeyboardEvent, useMemo, useState } from 'react'
import { useHostSheets } from '../features/hosts/host-sheets.tsx'
import { actionEntries, objectEntries } from '../features/palette/palette-entries.ts'
import { useVmSheets } from '../features/vms/vm-sheets.tsx'
import { paletteIndex, paletteResults } from '../lib/palette-rank.ts'
import { useRoute } from '../routes.ts'
import { fleetStore } from '../state/fleet-store.ts'

const SIGNS = [
  ['>', 'actions'],
  ['@', 'VMs'],
  ['#', 'hosts'],
  [':', 'settings'],
] as const

/** The box is all there is to go to. */
const keepTab = (event: KeyboardEvent) => {
  if (event.key === 'Tab') event.preventDefault()
}

/** One box for going, finding and doing. Nothing that destroys runs from here. What it offers stands still while it is open. */
export function Palette({ onClose, onKeys }: { onClose: () => void; onKeys: () => void }) {
  const route = useRoute()
  const [query, setQuery] = useState('')
  const sheets = { vm: useVmSheets(), host: useHostSheets() }
  const [index] = useState(() => {
    const fleet = fleetStore.getState()
    return [...paletteIndex(actionEntries(route, fleet, sheets, onKeys)), ...objectEntries(fleet)]
  })
  const results = useMemo(() => paletteResults(index, query), [index, query])
  return (
    // Modal by our own means: Radix' turns the pointer off for the whole page, whose style is made anew each time it opens.
    <Radix.Root open modal={false} onOpenChange={(open) => !open && onClose()}>
      <Radix.Portal>
        <div className="fixed inset-0 z-40 bg-black/30 dark:bg-black/55" />
        <Radix.Content
          aria-modal
          aria-describedby={undefined}
          onKeyDown={keepTab}
          onFocusOutside={(event) => event.preventDefault()}
          className="-translate-x-1/2 fixed top-[14vh] left-1/2 z-50 w-[calc(100vw-2rem)] max-w-xl overflow-hidden rounded-xl border border-line bg-panel shadow-pop"
        >
          <Radix.Title className="sr-only">Search and act</Radix.Title>
          <Command shouldFilter={false} label="Search and act" loop>
            <div className="flex items-center gap-2.5 border-line border-b px-4">
              <Search size={16} aria-hidden className="text-faint" />
              <Command.Input
                value={query}
                onValueChange={setQuery}
                placeholder="Go to, find, do"
                className="h-12 flex-1 bg-transparent text-base outline-none"
              />
            </div>
            <Command.List className="max-h-[50vh] overflow-y-auto p-1.5">
              <Command.Empty className="p-6 text-center text-dim">Nothing by that name.</Command.Empty>
              {results.map(({ id, text, hint, keys, icon: Icon, run }) => (
                <Command.Item
                  key={id}
                  value={id}
                  onSelect={() => {
                    onClose()
                    run()
                  }}
                  className="flex h-9 items-center gap-2.5 rounded-md px-2.5 data-[selected=true]:bg-hover"
                >
                  <Icon size={15} aria-hidden className="shrink-0 text-faint" />
                  <span className="truncate">{text}</span>
                  <span className="ml-auto shrink-0 truncate text-faint text-xs">{hint}</span>
                  {keys && (
                    <kbd className="shrink-0 rounded border border-line px-1.5 font-mono text-dim text-xs">{keys}</kbd>
                  )}
                </Command.Item>
              ))}
            </Command.List>
          </Command>
          <p className="flex flex-wrap gap-x-4 border-line border-t px-4 py-2 text-faint text-xs">
            {SIGNS.map(([sign, what]) => (
              <span key={sign}>
                <kbd className="font-mono text-dim">{sign}</kbd> {what}
              </span>
            ))}
          </p>
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  )
}
