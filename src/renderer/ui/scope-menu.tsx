import { Check, ChevronDown, Layers } from 'lucide-react'
import { Popover as Radix } from 'radix-ui'
import { useMemo, useState } from 'react'
import { cx } from '../lib/class-names.ts'
import { plural } from '../lib/format.ts'
import { labelsOf, type Scope, scopeText, setScope, useScope } from '../state/scope.ts'
import { useHosts } from '../state/use-fleet.ts'
import { inputClass } from './field.tsx'

interface Choice {
  scope: Scope
  text: string
  hint: string
}

const MAX_SHOWN = 60

/** Which part of the fleet every list shows: all of it, a host, or all hosts of a label. */
export function ScopeMenu() {
  const scope = useScope()
  const [open, setOpen] = useState(false)
  const choices = useChoices()
  const key = scopeText(scope)
  const now = choices.find((c) => scopeText(c.scope) === key)
  return (
    <Radix.Root open={open} onOpenChange={setOpen}>
      <Radix.Trigger
        aria-label={`Scope: ${now?.text ?? 'All hosts'}`}
        title="Every list shows only this part of the fleet"
        className={cx(
          'flex h-7 min-w-0 max-w-56 items-center gap-1.5 rounded-md border px-2 hover:bg-hover',
          scope.kind === 'all' ? 'border-line text-dim' : 'border-accent bg-accent/8 text-ink',
        )}
      >
        <Layers size={13} aria-hidden className="shrink-0" />
        <span className="truncate">{now?.text ?? 'All hosts'}</span>
        <ChevronDown size={13} aria-hidden className="shrink-0" />
      </Radix.Trigger>
      <Radix.Portal>
        <Radix.Content
          align="start"
          sideOffset={4}
          aria-label="Scope"
          className="z-50 w-72 rounded-lg border border-line bg-panel p-1.5 shadow-pop"
        >
          <ScopeList choices={choices} chosen={key} onDone={() => setOpen(false)} />
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  )
}

function useChoices(): Choice[] {
  const hosts = useHosts()
  return useMemo(() => {
    const labels = new Map<string, number>()
    for (const label of hosts.flatMap(labelsOf)) labels.set(label, (labels.get(label) ?? 0) + 1)
    const byText = (a: Choice, b: Choice) => a.text.localeCompare(b.text)
    return [
      { scope: { kind: 'all' as const }, text: 'All hosts', hint: `${hosts.length}` },
      ...[...labels]
        .map(([label, n]) => ({ scope: { kind: 'label' as const, label }, text: label, hint: plural(n, 'host') }))
        .sort(byText),
      ...hosts
        .map(({ id, name, address }) => ({ scope: { kind: 'host' as const, id }, text: name, hint: address }))
        .sort(byText),
    ]
  }, [hosts])
}

function ScopeList({ choices, chosen, onDone }: { choices: Choice[]; chosen: string; onDone: () => void }) {
  const [query, setQuery] = useState('')
  const [at, setAt] = useState(0)
  const found = choices.filter((c) => c.text.toLowerCase().includes(query.toLowerCase())).slice(0, MAX_SHOWN)
  const choose = (choice: Choice | undefined) => {
    if (!choice) return
    setScope(choice.scope)
    onDone()
  }
  return (
    <>
      <input
        aria-label="Find a host or label"
        role="combobox"
        aria-expanded
        aria-controls="scope-choices"
        aria-activedescendant={found[at] ? `scope-${at}` : undefined}
        placeholder="Host or label"
        value={query}
        spellCheck={false}
        onChange={(e) => {
          setQuery(e.target.value)
          setAt(0)
        }}
        onKeyDown={(e) => {
          const by = { ArrowDown: 1, ArrowUp: -1 }[e.key]
          if (by !== undefined) setAt((i) => Math.max(0, Math.min(found.length - 1, i + by)))
          else if (e.key === 'Enter') choose(found[at])
          else return
          e.preventDefault()
        }}
        className={cx(inputClass, 'mb-1 h-8')}
      />
      <div id="scope-choices" role="listbox" aria-label="Hosts and labels" className="max-h-80 overflow-y-auto">
        {found.length === 0 && <p className="px-2 py-3 text-center text-dim">No host or label by that name.</p>}
        {found.map((choice, i) => {
          const key = scopeText(choice.scope)
          return (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the box above
            <div
              key={key}
              id={`scope-${i}`}
              role="option"
              tabIndex={-1}
              aria-selected={key === chosen}
              onClick={() => choose(choice)}
              onPointerMove={() => setAt(i)}
              className={cx('flex h-8 items-center gap-2 rounded-md px-2', i === at && 'bg-hover')}
            >
              <span className="w-4 shrink-0 text-accent">{key === chosen && <Check size={14} aria-hidden />}</span>
              <span className="truncate">{choice.text}</span>
              <span className="ml-auto shrink-0 truncate text-faint text-xs">{choice.hint}</span>
            </div>
          )
        })}
      </div>
    </>
  )
}
