/** What a guest says of itself, in the parts the words need. */
export interface GuestFacts {
  guestAgent: string
  cloudInit: string
  modules: readonly { name: string; stage: string; result: string; detail: string }[]
  fleetPayload: string
  fleetPayloadDetail: string
}

export interface GuestVerdict {
  tone: 'good' | 'busy' | 'warn' | 'bad' | 'unknown'
  /** One sentence. */
  text: string
  /** What it means for the VM; empty = nothing. */
  effect: string
}

const unknown = (text: string): GuestVerdict => ({ tone: 'unknown', text, effect: '' })

/** How far cloud-init got, by the guest's own account. Nobody could say is never a failure. */
export function cloudInitVerdict(guest: GuestFacts | undefined): GuestVerdict {
  if (!guest || (guest.guestAgent === '' && guest.cloudInit === ''))
    return unknown('The guest was not asked about cloud-init yet.')
  const failed = guest.modules.filter(({ result }) => result === 'failed')
  const warned = guest.modules.filter(({ result }) => result !== 'failed')
  switch (guest.cloudInit) {
    case 'running':
      return { tone: 'busy', text: 'cloud-init is at work.', effect: '' }
    case 'done':
      return { tone: 'good', text: 'cloud-init finished.', effect: '' }
    case 'degraded':
    case 'error': {
      const tone = guest.cloudInit === 'error' ? 'bad' : 'warn'
      return { tone, text: `cloud-init finished with ${counted(failed, warned)}.`, effect: 'The VM runs.' }
    }
    case 'disabled':
      return { tone: 'warn', text: 'cloud-init is switched off in the guest.', effect: 'user-data was not read.' }
    case 'absent':
      return { tone: 'warn', text: 'The guest has no cloud-init.', effect: 'user-data was not read.' }
    case '':
      return unknown(
        guest.guestAgent === 'answering'
          ? 'The guest agent could not say how far cloud-init got.'
          : 'Nothing in the guest says how far cloud-init got: no guest agent answers.',
      )
    default:
      return unknown(`cloud-init says "${guest.cloudInit}".`)
  }
}

interface Named {
  name: string
}

/** `2 errors (runcmd, packages)`; cloud-init may name none. */
function counted(failed: readonly Named[], warned: readonly Named[]): string {
  const say = (modules: readonly Named[], one: string) =>
    modules.length === 0
      ? []
      : [`${modules.length} ${one}${modules.length === 1 ? '' : 's'} (${modules.map(({ name }) => name).join(', ')})`]
  return [...say(failed, 'error'), ...say(warned, 'warning')].join(' and ') || 'errors it did not name'
}

/** Whether what the fleet owes every guest (clock, disk, trust) is in it; undefined = nobody could say. */
export function payloadVerdict(guest: GuestFacts | undefined): GuestVerdict | undefined {
  if (guest?.fleetPayload === 'applied')
    return { tone: 'good', text: 'The fleet payload (clock, disk, trust) is applied.', effect: '' }
  if (guest?.fleetPayload !== 'not_applied') return undefined
  const why = guest.fleetPayloadDetail
  return {
    tone: 'warn',
    text: `Fleet payload not applied${why ? `: ${why.replace(/[.]$/, '')}` : ''}.`,
    effect: 'Its clock, disk size and trust are as the image and user-data leave them.',
  }
}
