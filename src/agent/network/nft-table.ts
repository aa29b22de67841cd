import type { Run } from '../os/exec.ts'
import { writeDurable } from '../os/files.ts'
import { ask, must } from './command.ts'

/** One table of nft that is the agent's alone. */
export class NftTable {
  readonly #name: readonly string[]
  readonly #file: string
  readonly #run: Run
  #wanted = ''
  /** As nft printed it right after it was loaded; '' = never. */
  #loaded = ''

  /** `name` like ip, eitri; rules are handed to nft in `file`. */
  constructor(name: readonly string[], file: string, run: Run) {
    this.#name = name
    this.#file = file
    this.#run = run
  }

  /** Programs the ruleset, one transaction, unless the table is as this object left it for the same. True = it was programmed. */
  async ensure(ruleset: string): Promise<boolean> {
    const isKnown = this.#loaded !== '' && this.#wanted === ruleset
    if (isKnown && (await this.#shown()) === this.#loaded) return false
    this.#loaded = ''
    this.#wanted = ruleset
    await writeDurable('network.rules', this.#file, ruleset)
    await must(this.#run, 'network.load', ['nft', '-f', this.#file])
    this.#loaded = await this.#shown()
    return true
  }

  async #shown(): Promise<string> {
    const { code, stdout } = await ask(this.#run, 'network.ask-rules', ['nft', '-s', 'list', 'table', ...this.#name])
    return code === 0 ? stdout : ''
  }
}
