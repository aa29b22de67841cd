import { apartWords, sourceWords } from '../../../ipc/clock-words.ts'
import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import { hrefOf } from '../../routes.ts'
import { StateWord } from '../../ui/state-word.tsx'
import { hostClockView } from './view-model.ts'

/** How a host's clock is kept, and who is wrong where it differs from this computer's. */
export function HostClockLine({ host }: { host: Host }) {
  const { clock } = host
  const more = [sourceWords(clock), apartWords(clock), clock?.detail].filter(Boolean)
  return (
    <>
      <a href={hrefOf({ page: 'clock', filter: `host:${host.name}` })} className="inline-flex hover:underline">
        <StateWord state={hostClockView(host)} />
      </a>
      {more.map((line) => (
        <span key={line} className="block text-dim text-xs">
          {line}
        </span>
      ))}
    </>
  )
}
