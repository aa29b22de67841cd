/** What a try to reach a published port found. `not-tried` carries its reason in the detail. */
export type ProbeState = 'open' | 'refused' | 'silent' | 'unreachable' | 'not-tried'

export interface ProbeNames {
  host: string
  vm: string
  hostPort: number
  guestPort: number
}

/** One sentence: what a connection from this computer to the host's port means, and the next move. Empty = nothing to say. */
export function probeFromHereWords(state: ProbeState, { host, vm, hostPort, guestPort }: ProbeNames): string {
  switch (state) {
    case 'open':
      return ''
    case 'refused':
      return `${host} answers, but takes no connection on ${hostPort}: see the state of the port, and whether a program listens on ${guestPort} in ${vm}.`
    case 'silent':
      return `Nothing came back in 5 s: a firewall between this computer and ${host} drops it, or ${host} is off. Open ${hostPort} there.`
    case 'unreachable':
      return `There is no way from this computer to that address: check the network, the VPN, and the name of ${host}.`
    case 'not-tried':
      return ''
  }
}

/** The same for a connection its host makes to the guest's port. */
export function probeFromHostWords(state: ProbeState, { host, vm, guestPort }: ProbeNames): string {
  switch (state) {
    case 'open':
      return ''
    case 'refused':
      return `${vm} takes no connection on port ${guestPort}: start the program that listens there inside the guest.`
    case 'silent':
      return `${vm} sent nothing back in 5 s: a firewall inside the guest may drop it. Look there.`
    case 'unreachable':
      return `${host} has no way to ${vm} now: it must run and have an address.`
    case 'not-tried':
      return ''
  }
}

/** Why a port is not tried: UDP. */
export const UDP_NOT_TESTABLE =
  'UDP has no handshake, so silence proves nothing: try it with the program that will use it.'
/** Why a port is not tried from here: its scope. */
export const loopbackNotTried = (host: string): string =>
  `It is open to programs on ${host} only, so this computer cannot reach it: publish it to the network for that.`
/** Why a port is not tried from here: no address. */
export const addressNotTried = (host: string): string =>
  `${host} has not told its address on the network yet: try again once it reported.`
