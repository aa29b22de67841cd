import { printable } from '../../../../ipc/fault-text.ts'
import { Fault } from '../../../../ipc/faults.ts'
import type { Keep, Question, TaskContext } from '../../tasks/task-context.ts'
import type { Secrets } from '../ssh/credentials.ts'
import { promptsOf } from '../ssh/prompts.ts'
import type { DeskAnswer } from './ask-desk.ts'
import { readPrompt } from './prompt-words.ts'

export interface AnswersOptions {
  /** Name of the host, for faults. */
  host: string
  /** What is known for a login as ssh writes it (user@host); passphrases are of the host itself. */
  secretsOf(login: string): Secrets
  passphrases: readonly string[]
  /** Absent = nobody is there. */
  ask?: TaskContext['ask'] | undefined
  /** What ssh said last beside its prompts: a server's instruction stands there. */
  instruction(): string
  /** No answer would be right: ssh must end, or it would send an empty one. */
  giveUp(fault: Fault): void
}

/** What a person said, to be kept when it let us in. */
export interface Learnt {
  passphrase?: string
  /** By login, as ssh writes it. */
  passwords: ReadonlyMap<string, string>
  keep?: Keep
}

const PROMPT_CHARS = 400

/** Answers the prompts of one dial: by what is known, once each, then by whoever is there. */
export class PromptAnswers {
  readonly #options: AnswersOptions
  readonly #sent = new Set<string>()
  readonly #passwords = new Map<string, string>()
  #passphrase: string | undefined
  #keep: Keep | undefined
  /** A hardware key waits to be touched: shown until the next thing happens. */
  #touch = new AbortController()
  /** A key nobody opened. */
  locked: string | undefined

  constructor(options: AnswersOptions) {
    this.#options = options
  }

  get learnt(): Learnt {
    return {
      passwords: this.#passwords,
      ...(this.#passphrase === undefined ? {} : { passphrase: this.#passphrase }),
      ...(this.#keep ? { keep: this.#keep } : {}),
    }
  }

  /** Nothing is asked any more. */
  end(): void {
    this.#touch.abort()
  }

  /** `hint` "none" = ssh only tells; it goes on by itself. */
  async answer(hint: string, text: string): Promise<DeskAnswer> {
    this.#touch.abort()
    if (hint === 'none') return this.#tell(text)
    const prompt = readPrompt(text)
    switch (prompt.kind) {
      case 'passphrase':
        return this.#openKey(prompt.file)
      case 'password':
        return this.#password(prompt.of)
      case 'server': {
        const [words] = promptsOf('', '', [{ prompt: prompt.prompt, echo: false }]) ?? []
        if (words?.password) return this.#password(prompt.of)
        return this.#server(prompt.of, words?.prompt ?? '')
      }
      case 'host-key': {
        const { host, keyType, fingerprint } = prompt
        const unknown = new Fault('ssh/host-key-unknown', 'permanent', { host, fingerprint, key_type: keyType })
        const answer = await this.#options.ask?.({ kind: 'host_key', host, keyType, fingerprint })
        // ssh takes the fingerprint itself for a yes, and no other one.
        return answer?.fingerprint === fingerprint ? [fingerprint] : this.#giveUp(unknown)
      }
      case 'other':
        return this.#server(this.#options.host, printable(prompt.prompt).slice(0, PROMPT_CHARS))
    }
  }

  #tell(text: string): DeskAnswer {
    this.#touch = new AbortController()
    const { ask, host } = this.#options
    const prompt = printable(text).slice(0, PROMPT_CHARS)
    const question = { kind: 'prompt', of: host, instruction: TOUCH, prompt, echo: true, problem: '' } as const
    void ask?.(question, this.#touch.signal).catch(() => {})
    return []
  }

  async #openKey(file: string): Promise<DeskAnswer> {
    const { ask, passphrases } = this.#options
    for (const phrase of passphrases) if (this.#once(`${file}\0${phrase}`)) return [phrase]
    this.locked = file
    // ssh goes on with its other keys; nothing of this reaches a server.
    if (!ask) return undefined
    const problem = this.#once(file) && passphrases.length === 0 ? '' : 'That passphrase does not open the key.'
    const { secret, keep } = await ask({ kind: 'secret', what: 'passphrase', of: file, problem })
    if (!secret) return undefined
    this.#passphrase = secret
    this.#keep = keep ?? this.#keep
    return [secret]
  }

  async #password(of: string): Promise<DeskAnswer> {
    const { ask, host, secretsOf } = this.#options
    const { password } = secretsOf(of)
    const first = this.#once(`password ${of}`)
    if (password && first) return [password]
    const refused = new Fault('ssh/auth-refused', 'permanent', {
      host,
      address: of,
      methods: password ? 'password' : '',
      offered: 'password',
    })
    if (!ask) return this.#giveUp(refused)
    const again = !first || password !== undefined
    const problem = again ? 'The host did not take that password.' : ''
    const { secret, keep } = await ask({ kind: 'secret', what: 'password', of, problem })
    if (!secret) return this.#giveUp(refused)
    this.#passwords.set(of, secret)
    this.#keep = keep ?? this.#keep
    return [secret]
  }

  async #server(of: string, prompt: string): Promise<DeskAnswer> {
    const { ask, host, instruction } = this.#options
    const needed = new Fault('ssh/code-needed', 'permanent', { host, address: of, prompt })
    const problem = this.#once(`server ${of} ${prompt}`) ? '' : 'The host did not take that answer.'
    const question: Question = { kind: 'prompt', of, instruction: instruction(), prompt, echo: false, problem }
    const answer = await ask?.(question)
    return answer?.secret ? [answer.secret] : this.#giveUp(needed)
  }

  #giveUp(fault: Fault): DeskAnswer {
    this.#options.giveUp(fault)
    return undefined
  }

  /** True the first time. */
  #once(what: string): boolean {
    if (this.#sent.has(what)) return false
    this.#sent.add(what)
    return true
  }
}

const TOUCH = 'Touch your security key.'
