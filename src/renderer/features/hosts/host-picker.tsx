import { Laptop } from 'lucide-react'
import { useId, useState } from 'react'
import { cx } from '../../lib/class-names.ts'
import { inputClass } from '../../ui/field.tsx'
import { type HostChoice, hostChoices, type LocalChoice } from './host-choices.ts'

interface HostPickerProps {
  value: string
  onChange: (text: string) => void
  /** The text is what the person means: taken from the list, or left. */
  onPick: (text: string) => void
  /** Names of the person's ssh configuration. */
  names: readonly string[]
  local: LocalChoice | undefined
  /** This computer was taken. */
  onLocal: () => void
  problem: string | undefined
  hint: string
}

/** A text field with the known host names under it: type to filter, arrows and Enter to take one, or type any address. */
export function HostPicker({ value, onChange, onPick, names, local, onLocal, problem, hint }: HostPickerProps) {
  const id = useId()
  const [open, setOpen] = useState(false)
  const [active, setActive] = useState(-1)
  const matches = hostChoices(names, local, value)
  const shown = open && matches.length > 0 && !(matches.length === 1 && matches[0]?.text === value)
  const take = ({ text, isLocal, isPossible }: HostChoice) => {
    if (!isPossible) return
    setOpen(false)
    setActive(-1)
    if (isLocal) return onLocal()
    onChange(text)
    onPick(text)
  }
  return (
    <div className="relative">
      <label htmlFor={id} className="mb-1 block font-medium text-dim text-xs">
        Host
      </label>
      <input
        id={id}
        role="combobox"
        aria-expanded={shown}
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        aria-describedby={`${id}-note`}
        {...(active >= 0 ? { 'aria-activedescendant': `${id}-${active}` } : {})}
        {...(problem ? { 'aria-invalid': true } : {})}
        autoComplete="off"
        // biome-ignore lint/a11y/noAutofocus: the page asks for this alone, and most often it is all there is to type
        autoFocus
        spellCheck={false}
        placeholder="rack2-07 or ops@10.0.2.7:22"
        value={value}
        className={cx(inputClass, 'h-9 text-base')}
        onFocus={() => setOpen(true)}
        onBlur={() => {
          setOpen(false)
          onPick(value)
        }}
        onChange={(e) => {
          onChange(e.target.value)
          setOpen(true)
          setActive(-1)
        }}
        onKeyDown={(e) => {
          if (e.key === 'ArrowDown' || e.key === 'ArrowUp') {
            e.preventDefault()
            setOpen(true)
            setActive((i) => Math.max(0, Math.min(matches.length - 1, i + (e.key === 'ArrowDown' ? 1 : -1))))
          }
          const choice = matches[active]
          if (e.key === 'Enter' && shown && choice) {
            e.preventDefault()
            take(choice)
          }
          if (e.key === 'Escape' && shown) {
            e.stopPropagation()
            setOpen(false)
          }
        }}
      />
      {shown && (
        <div
          id={`${id}-list`}
          role="listbox"
          aria-label="Hosts of your ssh configuration, and this computer"
          className="absolute z-20 mt-1 max-h-60 w-full overflow-auto rounded-lg border border-line bg-panel p-1 shadow-pop"
        >
          {matches.map((choice, i) => (
            <div
              key={choice.isLocal ? '' : choice.text}
              id={`${id}-${i}`}
              role="option"
              tabIndex={-1}
              aria-selected={i === active}
              {...(choice.isPossible ? {} : { 'aria-disabled': true })}
              className={cx(
                'flex min-h-8 flex-wrap items-center gap-x-2.5 rounded-md px-2 py-1',
                i === active ? 'bg-hover' : 'hover:bg-hover',
                !choice.isPossible && 'text-faint',
              )}
              onPointerDown={(e) => {
                e.preventDefault()
                take(choice)
              }}
            >
              {choice.isLocal && <Laptop size={14} aria-hidden className="text-dim" />}
              {choice.text}
              {choice.note !== '' && <span className="min-w-0 break-words text-faint text-xs">{choice.note}</span>}
            </div>
          ))}
        </div>
      )}
      <p id={`${id}-note`} className={cx('mt-1 min-h-4 text-xs leading-4', problem ? 'text-bad' : 'text-faint')}>
        {problem ?? hint}
      </p>
    </div>
  )
}
