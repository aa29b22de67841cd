import { Command } from 'cmdk'
import { Monitor, Search, Server, Zap } from 'lucide-react'
import { Dialog as Radix } from 'radix-ui'
import { useMemo, useState } from 'react'
import { type PaletteEntry, paletteResults } from '../lib/palette-rank.ts'
import { go, type Route } from '../routes.tsx'
import { fleetStore } from '../state/fleet-store.ts'
import { setPreference, usePreferences } from '../state/preferences.ts'

interface Act extends PaletteEntry {
  run: () => void
}

const ICON = { '>': Zap, '@': Monitor, '#': Server }

/** One box for going, finding and doing. Nothing that destroys runs from here. */
export function Palette({ onClose, onKeys }: { onClose: () => void; onKeys: () => void }) {
  const [query, setQuery] = useState('')
  const acts = useMemo(() => [...actions(onKeys), ...objects()], [onKeys])
  const results = useMemo(() => paletteResults(acts, query) as Act[], [acts, query])
  return (
    <Radix.Root open onOpenChange={(open) => !open && onClose()}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-40 bg-black/30 dark:bg-black/55" />
        <Radix.Content
          aria-describedby={undefined}
          className="-translate-x-1/2 fixed top-[14vh] left-1/2 z-50 w-[calc(100vw-2rem)] max-w-xl overflow-hidden rounded-xl border border-line bg-panel shadow-pop"
        >
          <Radix.Title className="sr-only">Search and act</Radix.Title>
          <Command shouldFilter={false} label="Search and act" loop>
            <div className="flex items-center gap-2.5 border-line border-b px-4">
              <Search size={16} aria-hidden className="text-faint" />
              <Command.Input
                value={query}
                onValueChange={setQuery}
                placeholder="Go to, find, do.   > actions   @ VMs   # hosts"
                className="h-12 flex-1 bg-transparent text-base outline-none"
              />
            </div>
            <Command.List className="max-h-[50vh] overflow-y-auto p-1.5">
              <Command.Empty className="p-6 text-center text-dim">Nothing by that name.</Command.Empty>
              {results.map((act) => {
                const Icon = ICON[act.kind]
                return (
                  <Command.Item
                    key={act.id}
                    value={act.id}
                    onSelect={() => {
                      onClose()
                      act.run()
                    }}
                    className="flex h-9 items-center gap-2.5 rounded-md px-2.5 data-[selected=true]:bg-hover"
                  >
                    <Icon size={15} aria-hidden className="shrink-0 text-faint" />
                    <span className="truncate">{act.text}</span>
                    <span className="ml-auto shrink-0 text-faint text-xs">{act.hint}</span>
                  </Command.Item>
                )
              })}
            </Command.List>
          </Command>
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  )
}

function actions(onKeys: () => void): Act[] {
  const to = (text: string, hint: string, route: Route): Act => ({
    id: `>${text}`,
    kind: '>',
    text,
    hint,
    run: () => go(route),
  })
  const { density } = usePreferences.getState()
  const theme = (text: string, value: 'system' | 'light' | 'dark'): Act => ({
    id: `>${text}`,
    kind: '>',
    text,
    hint: '',
    run: () => setPreference('theme', value),
  })
  return [
    to('Create VM', 'n', { page: 'create-vm', host: '' }),
    to('VMs', 'g v', { page: 'vms', filter: '' }),
    to('Hosts', 'g h', { page: 'hosts', filter: '' }),
    to('Images', 'g i', { page: 'images' }),
    to('Networks', 'g n', { page: 'networks' }),
    to('Clock', 'g k', { page: 'clock', filter: '' }),
    to('Published ports', 'g p', { page: 'ports', filter: '' }),
    to('Activity', 'g a', { page: 'activity', filter: '' }),
    to('Add a host over SSH', '', { page: 'add-host', taskId: '' }),
    to('VMs that need a person', '', { page: 'vms', filter: 'state:decision' }),
    to('VMs in quarantine', '', { page: 'vms', filter: 'state:quarantine' }),
    theme('Dark appearance', 'dark'),
    theme('Light appearance', 'light'),
    theme('Appearance as the system', 'system'),
    {
      id: '>density',
      kind: '>',
      text: density === 'compact' ? 'Comfortable rows' : 'Compact rows',
      hint: '',
      run: () => setPreference('density', density === 'compact' ? 'comfortable' : 'compact'),
    },
    { id: '>keys', kind: '>', text: 'Keys', hint: '?', run: onKeys },
  ]
}

function objects(): Act[] {
  const { vms, hosts } = fleetStore.getState()
  const byName = <T extends { name: string }>(a: T, b: T) => a.name.localeCompare(b.name)
  return [
    ...[...vms.values()]
      .filter((vm) => !vm.deletedAt)
      .sort(byName)
      .flatMap((vm): Act[] => [
        {
          id: `@${vm.id}`,
          kind: '@',
          text: vm.name,
          hint: vm.hostName,
          run: () => go({ page: 'vm', id: vm.id, tab: 'overview' }),
        },
        ...(vm.unowned
          ? []
          : [
              {
                id: `@${vm.id}/console`,
                kind: '@' as const,
                text: `${vm.name} console`,
                hint: vm.hostName,
                run: () => go({ page: 'vm', id: vm.id, tab: 'console' }),
              },
            ]),
      ]),
    ...[...hosts.values()].sort(byName).map(
      (host): Act => ({
        id: `#${host.id}`,
        kind: '#',
        text: host.name,
        hint: host.address || 'this computer',
        run: () => go({ page: 'host', id: host.id, tab: 'overview' }),
      }),
    ),
  ]
}
