/** The only words a state is told in, each with what belongs to it. */
export const HOST_WORD =
  /^(Connected|Connecting|Degraded|Unreachable \(.+\)|Key not trusted|Key changed|Agent missing|Agent outdated|Held by another controller|Sign-in needed)$/
export const VM_WORD =
  /^(Creating( \d+\/\d+)?|Starting|Running|Paused|Suspended|Stopping|Stopped|Crashed|Unknown( since .+)?|Needs a decision|In quarantine( until .+)?|Unowned)$/
export const CLOCK_WORD = /^(In step( \(±.+\))?|(Drifting|Jumped|Not synchronised)( \(.+\))?|Not reported)$/
export const CERTIFICATE_WORD = /^(Valid|Expires in .+|Expired|Not yet valid \(check clocks\)|Revoked|Being replaced)$/
