import { Cable, Unplug } from 'lucide-react'
import { formatTime } from '../../lib/format.ts'
import { useNow } from '../../state/now.ts'
import { useFleet } from '../../state/use-fleet.ts'

/** Whether what the window shows is being told, with the age of what it shows when it is not. */
export function FeedState() {
  const feed = useFleet((f) => f.feed)
  const connected = useFleet((f) => [...f.hosts.values()].filter((h) => h.link === 'connected').length)
  const hosts = useFleet((f) => f.hosts.size)
  if (feed.state === 'lost')
    return (
      <span className="flex items-center gap-1.5 text-bad">
        <Unplug size={13} aria-hidden /> Eitri is not answering
      </span>
    )
  if (feed.state !== 'live') return <span>Reading the fleet…</span>
  return (
    <span className="flex items-center gap-1.5">
      <Cable size={13} aria-hidden className={connected === hosts ? 'text-good' : 'text-warn'} />
      {hosts === 0 ? (
        'No hosts'
      ) : (
        <span>
          {connected} of {hosts}
          <span className="max-sm:sr-only">{` ${hosts === 1 ? 'host' : 'hosts'} connected`}</span>
        </span>
      )}
    </span>
  )
}

/** Across the top while this window is not being told: everything below it is last known. */
export function FeedBanner() {
  const feed = useFleet((f) => f.feed)
  const now = useNow()
  if (feed.state !== 'lost') return null
  const wait = Math.max(0, Math.ceil((feed.nextTryAt - now) / 1000))
  return (
    <div role="alert" className="flex items-center gap-2 border-warn/40 border-b bg-warn/10 px-5 py-2">
      <Unplug size={15} aria-hidden className="text-warn" />
      <p>
        <strong className="font-medium">
          Eitri's control plane has not answered since {formatTime(new Date(feed.since), new Date(now))}.
        </strong>{' '}
        What you see is last known; VMs keep running. {wait > 0 ? `Trying again in ${wait} s.` : 'Trying again now.'}
      </p>
    </div>
  )
}
