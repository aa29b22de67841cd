import { guestCidrProblem, networkOf, overlaps, parseCidr } from '../../ipc/base/cidr.ts'

/** Who says which network guests live in, strongest first; empty = says nothing. */
export interface CidrClaims {
  /** Of identity.json: guests may hold addresses in it, so nothing but an edit of that file moves it. */
  persisted: string
  /** `--bridge-cidr`. */
  flag: string
  /** Of the control plane's Attach, best first: the first that fits counts. */
  suggestions: readonly string[]
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
  const { persisted, flag, suggestions } = claims
  const fits = suggestions.slice(0, MAX_SUGGESTIONS).find((one) => one !== '' && takenOr(one, ownNetworks) === '')
  const cidr = persisted || flag || (fits ?? suggestions[0] ?? '')
  if (cidr === '') return { cidr, problem: '' }
  const source = persisted ? 'identity.json' : flag ? '--bridge-cidr' : 'the control plane'
  const problem = persisted ? guestCidrProblem(cidr) : takenOr(cidr, ownNetworks)
  return problem === ''
    ? { cidr, problem }
    : { cidr: '', problem: `There is no network for guests: ${source} says ${cidr.slice(0, 50)}, but ${problem}.` }
}

const MAX_SUGGESTIONS = 9

const takenOr = (cidr: string, ownNetworks: readonly string[]): string =>
  guestCidrProblem(cidr) || takenBy(cidr, ownNetworks)

function takenBy(cidr: string, ownNetworks: readonly string[]): string {
  const wanted = parseCidr(cidr)!
  const own = ownNetworks.find((text) => {
    const network = networkOf(text)
    return network !== undefined && overlaps(network, wanted)
  })
  return own === undefined ? '' : `this host reaches ${own} by another way`
}
