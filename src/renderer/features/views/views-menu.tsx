import { Bookmark } from 'lucide-react'
import { useState } from 'react'
import { cx } from '../../lib/class-names.ts'
import { MAX_VIEWS, type SavedView } from '../../state/preference-shape.ts'
import { setPreference, usePreferences } from '../../state/preferences.ts'
import { Button, IconButton } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { Menu, type MenuItem } from '../../ui/menu.tsx'

const NO_VIEWS: readonly SavedView[] = []
const MAX_PINNED = 5
const MAX_NAME = 40

export interface ViewsProps {
  /** Under which own views are kept. */
  list: string
  builtIn: readonly SavedView[]
  filter: string
  onFilter: (filter: string) => void
}

const keepViews = (list: string, views: readonly SavedView[]) =>
  setPreference('views', { ...usePreferences.getState().views, [list]: views })

/** Filters by name: those the app brings, and a person's own. */
export function ViewsMenu({ list, builtIn, filter, onFilter }: ViewsProps) {
  const own = usePreferences((p) => p.views[list] ?? NO_VIEWS)
  const [naming, setNaming] = useState(false)
  const now = filter.trim()
  const choice = ({ name, filter: theirs }: SavedView): MenuItem => ({
    label: name,
    checked: theirs === now,
    onSelect: () => onFilter(theirs === now ? '' : theirs),
  })
  const mine = own.find((view) => view.filter === now)
  return (
    <>
      <Menu
        trigger={
          <IconButton label="Saved views">
            <Bookmark size={15} aria-hidden className={cx(mine && 'fill-current text-accent')} />
          </IconButton>
        }
        items={[
          ...builtIn.map(choice),
          ...(builtIn.length > 0 ? (['separator'] as const) : []),
          ...own.map(choice),
          ...(own.length > 0 ? (['separator'] as const) : []),
          mine
            ? {
                label: `Forget “${mine.name}”`,
                onSelect: () =>
                  keepViews(
                    list,
                    own.filter((v) => v !== mine),
                  ),
              }
            : {
                label: 'Save this filter…',
                disabled: now === '' || own.length >= MAX_VIEWS,
                onSelect: () => setNaming(true),
              },
        ]}
      />
      {naming && (
        <NameView
          taken={[...builtIn, ...own].map((v) => v.name)}
          filter={now}
          onName={(name) => keepViews(list, [...own, { name, filter: now }])}
          onClose={() => setNaming(false)}
        />
      )}
    </>
  )
}

/** A person's own views, one press away. */
export function PinnedViews({ list, filter, onFilter }: Omit<ViewsProps, 'builtIn'>) {
  const own = usePreferences((p) => p.views[list] ?? NO_VIEWS)
  return own.slice(0, MAX_PINNED).map((view) => {
    const here = view.filter === filter.trim()
    return (
      <button
        key={view.name}
        type="button"
        aria-pressed={here}
        title={view.filter}
        onClick={() => onFilter(here ? '' : view.filter)}
        className={cx(
          'h-6 max-w-40 truncate rounded-full border px-2.5 text-xs hover:bg-hover',
          here ? 'border-accent bg-accent/10 text-ink' : 'border-line text-dim',
        )}
      >
        {view.name}
      </button>
    )
  })
}

interface NameViewProps {
  taken: readonly string[]
  filter: string
  onName: (name: string) => void
  onClose: () => void
}

function NameView({ taken, filter, onName, onClose }: NameViewProps) {
  const [name, setName] = useState('')
  const isTaken = taken.some((other) => other.toLowerCase() === name.trim().toLowerCase())
  const save = () => {
    if (name.trim() === '' || isTaken) return
    onName(name.trim())
    onClose()
  }
  return (
    <Dialog
      open
      onClose={onClose}
      title="Save this filter as a view"
      description="It stands in the head of this list from now on."
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" disabled={name.trim() === '' || isTaken} onClick={save}>
            Save the view
          </Button>
        </>
      }
    >
      <form
        onSubmit={(event) => {
          event.preventDefault()
          save()
        }}
      >
        <TextField
          label="Name"
          value={name}
          maxLength={MAX_NAME}
          problem={isTaken ? 'A view of this list has that name already.' : undefined}
          hint={filter}
          onChange={(event) => setName(event.target.value)}
        />
      </form>
    </Dialog>
  )
}
