import type { Run } from '../os/exec.ts'
import { writeDurable } from '../os/files.ts'
import { ask, must } from './command.ts'
import { NAT_TABLE, type NatPlan, natRuleset } from './nat-ruleset.ts'
import type { NetworkPlace } from './network-place.ts'

/** The guests' NAT as nft has it. */
export class NatRules {
  readonly #plan: NatPlan
  readonly #place: NetworkPlace
  readonly #run: Run
  /** As nft printed it right after it was loaded; '' = never. */
  #loaded = ''

  constructor(plan: NatPlan, place: NetworkPlace, run: Run) {
    this.#plan = plan
    this.#place = place
    this.#run = run
  }

  /** Programs the rules in one transaction unless they are as this object left them. True = they were programmed. */
  async ensure(): Promise<boolean> {
    if (this.#loaded !== '' && (await this.#shown()) === this.#loaded) return false
    await writeDurable('network.rules', this.#place.rules, natRuleset(this.#plan))
    await must(this.#run, 'network.load', 'nft', '-f', this.#place.rules)
    this.#loaded = await this.#shown()
    return true
  }

  async #shown(): Promise<string> {
    const { code, stdout } = await ask(this.#run, 'network.ask-rules', 'nft', '-s', 'list', 'table', ...NAT_TABLE)
    return code === 0 ? stdout : ''
  }
}
