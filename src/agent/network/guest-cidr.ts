import { guestCidrProblem, networkOf, overlaps, parseCidr } from '../../ipc/base/cidr.ts'

/** Who says which network guests live in, strongest first; empty = says nothing. */
export interface CidrClaims {
  /** Of identity.json: guests may hold addresses in it, so nothing but an edit of that file moves it. */
  persisted: string
  /** `--bridge-cidr`. */
  flag: string
  /** Of the control plane's Attach. */
  suggestion: string
}

export interface GuestCidr {
  /** Empty = none. */
  cidr: string
  /** Why what was claimed is not taken, one sentence; empty = nothing to say. */
  problem: string
}

/**
 * The strongest claim, or none when that one cannot be: a weaker one is not what a person asked for. Where the
 * operating system owns the guests' network nobody else has a say.
 */
export function guestCidr(platform: NodeJS.Platform, claims: CidrClaims, ownNetworks: readonly string[]): GuestCidr {
  if (platform === 'darwin') return { cidr: '', problem: '' }
  const { persisted, flag, suggestion } = claims
  const cidr = persisted || flag || suggestion
  if (cidr === '') return { cidr, problem: '' }
  const source = persisted ? 'identity.json' : flag ? '--bridge-cidr' : 'the control plane'
  const problem = guestCidrProblem(cidr) || (persisted ? '' : takenBy(cidr, ownNetworks))
  return problem === ''
    ? { cidr, problem }
    : { cidr: '', problem: `There is no network for guests: ${source} says ${cidr.slice(0, 50)}, but ${problem}.` }
}

function takenBy(cidr: string, ownNetworks: readonly string[]): string {
  const wanted = parseCidr(cidr)!
  const own = ownNetworks.find((text) => {
    const network = networkOf(text)
    return network !== undefined && overlaps(network, wanted)
  })
  return own === undefined ? '' : `this host reaches ${own} by another way`
}
