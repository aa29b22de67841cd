import { X } from 'lucide-react'
import { formatBytes } from '../../lib/format.ts'
import { Button, IconButton } from '../../ui/button.tsx'

interface LiveTailProps {
  notShown: bigint
  onOpen: () => void
  onDismiss: () => void
}

/** Output came faster than it can be shown: what is on the screen is the newest, and the host has the rest. */
export function LiveTail({ notShown, onOpen, onDismiss }: LiveTailProps) {
  if (notShown === 0n) return null
  return (
    <p
      role="status"
      className="flex shrink-0 items-center gap-3 border-line border-b bg-panel py-1 pr-1 pl-3 text-warn text-xs"
    >
      <span className="min-w-0 flex-1">
        Output is too fast to show: this is the live tail. {formatBytes(notShown)} are only in the log on the host.
      </span>
      <Button size="small" onClick={onOpen}>
        Read log…
      </Button>
      <IconButton label="Dismiss" onClick={onDismiss} className="size-6">
        <X size={13} aria-hidden />
      </IconButton>
    </p>
  )
}
