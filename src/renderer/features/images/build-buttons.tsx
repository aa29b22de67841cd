import { Hammer } from 'lucide-react'
import { useInfo } from '../../api/queries.ts'
import { useTasks } from '../../state/use-fleet.ts'
import { Button } from '../../ui/button.tsx'
import { isOpen } from '../tasks/view-model.ts'
import { buildDebian, buildTiny } from './actions.ts'

/** One button per image this computer can build; where it cannot, the button says why. */
export function BuildButtons({ look = 'plain' }: { look?: 'plain' | 'primary' }) {
  const { data: info } = useInfo()
  const building = new Set(
    useTasks()
      .filter((t) => t.kind === 'build_image' && isOpen(t))
      .map((t) => t.subject),
  )
  const why = (possible: boolean | undefined, detail: string | undefined) => (possible === false ? detail : undefined)
  return (
    <>
      <BuildButton
        label="Build the tiny image"
        look={look}
        building={building.has('tiny')}
        impossible={why(info?.buildTinyPossible, info?.buildTinyDetail)}
        onBuild={buildTiny}
      />
      <BuildButton
        label="Build Debian 12"
        look="plain"
        building={building.has('debian-12')}
        impossible={why(info?.buildDebianPossible, info?.buildDebianDetail)}
        onBuild={buildDebian}
      />
    </>
  )
}

function BuildButton(props: {
  label: string
  look: 'plain' | 'primary'
  building: boolean
  impossible: string | undefined
  onBuild: () => Promise<unknown>
}) {
  const { label, look, building, impossible, onBuild } = props
  return (
    // a disabled button shows no tip of its own
    <span title={impossible === undefined ? undefined : `Not possible here: ${impossible}`}>
      <Button look={look} disabled={building || impossible !== undefined} onClick={() => void onBuild()}>
        <Hammer size={14} aria-hidden />
        {label}
      </Button>
    </span>
  )
}
