import { X } from 'lucide-react'
import { useEffect, useId, useRef, useState } from 'react'
import { cx } from '../../lib/class-names.ts'
import { useNow } from '../../state/now.ts'
import { useVms } from '../../state/use-fleet.ts'
import { IconButton } from '../../ui/button.tsx'
import { inputClass } from '../../ui/field.tsx'
import { keyText } from '../../ui/key-table.ts'
import { StateWord } from '../../ui/state-word.tsx'
import { vmState } from '../vms/view-model.ts'
import { pickable } from './pick-vm.ts'

interface VmPickerProps {
  focused: boolean
  onPick: (vmId: string) => void
  onClose: () => void
}

/** An empty pane asks whose console it is to show: by typing, or from the list. */
export function VmPicker({ focused, onPick, onClose }: VmPickerProps) {
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  const list = useId()
  const now = useNow()
  const vms = pickable(useVms(), text)
  const active = vms[Math.min(at, vms.length - 1)]
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => {
    if (focused) input.current?.focus()
  }, [focused])
  const onKeyDown = (event: React.KeyboardEvent) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (by !== undefined) setAt((n) => Math.max(0, Math.min(vms.length - 1, n + by)))
    else if (event.key === 'Enter' && active) onPick(active.id)
    else return
    event.preventDefault()
  }
  return (
    <div className="flex h-full flex-col gap-2 overflow-hidden bg-panel p-4">
      <div className="flex items-start justify-between gap-2">
        <label htmlFor={`${list}-text`} className="text-dim">
          Pick a VM, or press {keyText('mod+k')} and type its name.
        </label>
        <IconButton label="Close the pane" className="size-6" onClick={onClose}>
          <X size={13} aria-hidden />
        </IconButton>
      </div>
      <input
        id={`${list}-text`}
        ref={input}
        role="combobox"
        aria-expanded
        aria-controls={list}
        aria-activedescendant={active && `${list}-${active.id}`}
        autoComplete="off"
        spellCheck={false}
        placeholder="Name of a VM or host"
        value={text}
        className={cx(inputClass, 'h-8 max-w-sm')}
        onChange={(event) => {
          setText(event.target.value)
          setAt(0)
        }}
        onKeyDown={onKeyDown}
      />
      <div id={list} role="listbox" aria-label="VMs" className="min-h-0 max-w-sm flex-1 overflow-y-auto">
        {vms.map((vm) => (
          // biome-ignore lint/a11y/useFocusableInteractive lint/a11y/useKeyWithClickEvents: the field above has the focus and the keys
          <div
            key={vm.id}
            id={`${list}-${vm.id}`}
            role="option"
            aria-selected={vm === active}
            className={cx('flex h-8 items-center gap-2 rounded-md px-2', vm === active && 'bg-hover')}
            onClick={() => onPick(vm.id)}
          >
            <span className="min-w-0 flex-1 truncate">
              {vm.name} <span className="text-faint">@ {vm.hostName}</span>
            </span>
            <StateWord state={vmState(vm, now)} />
          </div>
        ))}
        {vms.length === 0 && (
          <p className="px-2 text-dim">{text === '' ? 'There is no VM yet.' : `No VM matches “${text}”.`}</p>
        )}
      </div>
    </div>
  )
}
