import { ChevronDown, Play, Power, RotateCw, SquareTerminal, Tag, Trash2 } from 'lucide-react'
import { Button } from '../../ui/button.tsx'
import { Menu } from '../../ui/menu.tsx'
import { openInWorkspace } from '../consoles/open.ts'
import type { BulkAct } from './bulk-plan.ts'

/** What can be done with the chosen VMs: each opens its plan first. */
export function BulkActs({ ids, onAct }: { ids: readonly string[]; onAct: (act: BulkAct) => void }) {
  const act = (what: Exclude<BulkAct['do'], 'labels'>) => () => onAct({ do: what })
  return (
    <>
      <Button size="small" onClick={act('start')}>
        <Play size={13} aria-hidden />
        Start…
      </Button>
      <Button size="small" onClick={act('stop')}>
        <Power size={13} aria-hidden />
        Stop…
      </Button>
      <Button size="small" onClick={act('restart')}>
        <RotateCw size={13} aria-hidden />
        Restart…
      </Button>
      <Button size="small" onClick={() => onAct({ do: 'labels', set: {}, remove: [] })}>
        <Tag size={13} aria-hidden />
        Labels…
      </Button>
      <Button size="small" onClick={() => openInWorkspace(ids)}>
        <SquareTerminal size={13} aria-hidden />
        Open consoles
      </Button>
      <Menu
        trigger={
          <Button size="small">
            More
            <ChevronDown size={13} aria-hidden />
          </Button>
        }
        items={[
          { label: 'Protect…', onSelect: act('protect') },
          { label: 'Unprotect…', onSelect: act('unprotect') },
          { label: 'Undelete…', onSelect: act('undelete') },
        ]}
      />
      <Button size="small" className="text-bad!" onClick={act('delete')}>
        <Trash2 size={13} aria-hidden />
        Delete…
      </Button>
    </>
  )
}
