import { Check, Link2 } from 'lucide-react'
import { addressOf, type Route } from '../routes.ts'
import { IconButton } from './button.tsx'
import { useCopied } from './copy-text.tsx'

/** The address of a place, for a chat, a note or a ticket: whoever has this fleet opens the same thing. */
export function CopyLink({ route, hostId, of }: { route: Route; hostId?: string; of: string }) {
  const [copied, copy] = useCopied()
  return (
    <IconButton
      label={copied ? 'Copied' : `Copy link to ${of}`}
      onClick={() => copy(addressOf(route, hostId))}
      data-copy-link
    >
      {copied ? <Check size={14} aria-hidden className="text-good" /> : <Link2 size={14} aria-hidden />}
    </IconButton>
  )
}
