import { type Artefacts, readArtefacts } from './artefacts.ts'
import { isAgent } from './upgrade-offers.ts'

/** Which agent this build brings, as last looked up. Shown beside what hosts have. */
export class OwnAgent {
  readonly #dir: string
  #known: Pick<Artefacts, 'version' | 'buildDigest'> | undefined

  /** `dir` = of the artefacts. */
  constructor(dir: string) {
    this.#dir = dir
  }

  /** Looks anew: a build may have replaced it. Raises app/part-missing. */
  async read(): Promise<Artefacts> {
    const artefacts = await readArtefacts(this.#dir)
    this.#known = artefacts
    return artefacts
  }

  /** Version that would be put on a host with this agent; '' = it has that one or a newer, or there is none here. */
  availableFor(agent: { agentVersion: string; agentDigest: string }): string {
    if (!this.#known || agent.agentVersion === '') return ''
    const { version, buildDigest: digest } = this.#known
    if (isAgent(agent, { version, digest }) || compareVersions(agent.agentVersion, version) > 0) return ''
    return version
  }
}

/** By their numbers, then a release after what leads to it; what is no version is older than any. */
export function compareVersions(a: string, b: string): number {
  const [x, y] = [parts(a), parts(b)]
  for (let i = 0; i < 3; i++) {
    const difference = (x.numbers[i] ?? -1) - (y.numbers[i] ?? -1)
    if (difference !== 0) return difference
  }
  if (x.pre === y.pre) return 0
  if (x.pre === '' || y.pre === '') return x.pre === '' ? 1 : -1
  return x.pre < y.pre ? -1 : 1
}

function parts(version: string): { numbers: number[]; pre: string } {
  const [, numbers = '', pre = ''] = /^(\d+\.\d+\.\d+)(?:-([0-9A-Za-z.-]+))?(?:\+.*)?$/.exec(version) ?? []
  return { numbers: numbers === '' ? [] : numbers.split('.').map(Number), pre }
}
