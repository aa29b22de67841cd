import { useState } from 'react'
import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import { cx } from '../../lib/class-names.ts'
import { formatGib, formatMemory } from '../../lib/format.ts'
import { hrefOf } from '../../routes.ts'
import { Button } from '../../ui/button.tsx'
import { inputClass } from '../../ui/field.tsx'
import { CreatePart } from './create-part.tsx'
import { type Need, type Picked, type Place, placesFor } from './placement.ts'

const FIRST = 3
const MOST = 50

interface WhereProps {
  hosts: readonly Host[]
  need: Need
  picked: Picked | undefined
  /** Host id; empty = pick for me. */
  value: string
  problem: string | undefined
  onChange: (host: string) => void
}

/** Every host as a place for this VM, with what it has left, and why not where it cannot. */
export function WherePart({ hosts, need, picked, value, problem, onChange }: WhereProps) {
  const [all, setAll] = useState(false)
  const [filter, setFilter] = useState('')
  const places = placesFor(hosts, need)
  const named = places.filter(({ host }) => host.name.includes(filter.trim().toLowerCase()))
  const first = named.filter(({ host }, i) => i < FIRST || host.id === value)
  const shown = (all ? named : first).slice(0, MOST)
  return (
    <CreatePart number={1} title="Where">
      <fieldset aria-label="Host" className="grid gap-1" aria-describedby={problem ? 'where-problem' : undefined}>
        <Choice
          checked={value === ''}
          onChoose={() => onChange('')}
          name="Pick for me"
          text={picked ? `${picked.place.host.name}: ${picked.why}` : 'no host takes VMs now'}
          caution={picked?.place.refused ?? picked?.place.caution}
        />
        {shown.map((place) => (
          <Choice
            key={place.host.id}
            checked={value === place.host.id}
            disabled={place.refused !== undefined && value !== place.host.id}
            onChoose={() => onChange(place.host.id)}
            name={place.host.name}
            text={place.refused ?? freeText(place)}
            caution={place.refused ? undefined : place.caution}
          />
        ))}
      </fieldset>
      {hosts.length === 0 && (
        <p className="mt-2 text-dim">
          There is no host yet.{' '}
          <a className="text-accent underline" href={hrefOf({ page: 'add-host', taskId: '' })}>
            Add one
          </a>{' '}
          and come back: what is written here stays.
        </p>
      )}
      {places.length > FIRST && (
        <div className="mt-2 flex items-center gap-2">
          {all ? (
            <input
              aria-label="Filter the hosts"
              value={filter}
              placeholder="part of a name"
              className={cx(inputClass, 'h-7 max-w-60')}
              onChange={(e) => setFilter(e.target.value)}
            />
          ) : (
            <Button size="small" look="quiet" onClick={() => setAll(true)}>
              Show all {places.length} hosts
            </Button>
          )}
          {all && named.length > MOST && (
            <span className="text-faint text-xs">
              The first {MOST} of {named.length}
            </span>
          )}
        </div>
      )}
      {problem && (
        <p id="where-problem" className="mt-1 text-bad text-xs">
          {problem}
        </p>
      )}
    </CreatePart>
  )
}

const freeText = ({ free }: Place): string =>
  free
    ? `${Math.max(0, free.vcpus)} vCPU · ${formatMemory(Math.max(0, free.memMb))} memory · ${formatGib(Math.max(0, free.diskGb))} disk not promised`
    : ''

interface ChoiceProps {
  checked: boolean
  disabled?: boolean
  name: string
  text: string
  caution: string | undefined
  onChoose: () => void
}

function Choice({ checked, disabled = false, name, text, caution, onChoose }: ChoiceProps) {
  return (
    <label
      className={cx(
        'flex min-h-8 items-center gap-x-3 rounded-md border px-3 py-1',
        checked ? 'border-accent bg-accent/6' : 'border-transparent hover:bg-hover',
        disabled && 'text-faint',
      )}
    >
      <input
        type="radio"
        name="create-host"
        className="size-4 accent-accent"
        checked={checked}
        disabled={disabled}
        onChange={onChoose}
      />
      <span className="flex min-w-0 flex-1 flex-wrap items-center gap-x-3">
        <span className="font-medium">{name}</span>
        <span className={cx('min-w-0 text-xs', disabled ? 'text-faint' : 'text-dim')}>{text}</span>
        {caution && <span className="text-warn text-xs">{caution}</span>}
      </span>
    </label>
  )
}
