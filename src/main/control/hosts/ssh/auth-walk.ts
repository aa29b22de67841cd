import type { AnyAuthMethod, AuthHandlerMiddleware, BaseAgent, ParsedKey } from 'ssh2'
import { Fault } from '../../../../ipc/faults.ts'
import { type KeyMethod, keyIdOf, type Method, planMethods, WIRE_NAME } from './auth-plan.ts'
import type { Credentials } from './credentials.ts'
import { type AskPrompt, MAX_ROUNDS, promptsOf, type ServerPrompt } from './prompts.ts'

export interface SignInOptions {
  /** Absent = nobody is there: a prompt without a known answer ends the sign-in with ssh/code-needed. */
  ask?: AskPrompt | undefined
  /** A locked key is to be opened before a person is asked for anything else. */
  keysFirst?: boolean
  /** Keys this server refused before, by id. */
  refused?: ReadonlySet<string>
  maxKeys?: number
}

/** One sign-in on one connection: walks the plan, and keeps what was tried and what the server would take. */
export class SignIn {
  readonly tried: string[] = []
  /** Method names the server takes. Empty = it never said. */
  offered: string[] = []
  readonly refusedKeys = new Set<string>()
  /** The password was sent and the sign-in failed at that step: it must not be sent again unasked. */
  passwordRefused = false
  /** What the server took, in order, in words. */
  readonly accepted: string[] = []
  acceptedKey: KeyMethod | undefined
  /** A request is out that the server has not answered. */
  pending = false
  /** A person is being asked. */
  asking = false
  /** A person answered a prompt of the server, and it did not take the answer. */
  answerRefused = false
  /** A password typed at a prompt. It is the right one if the sign-in worked. */
  typed: string | undefined
  /** Why it ended itself. Absent = it did not. */
  gaveUp: Fault | undefined
  /** Set by the connection: what to do when it gives up, and while a person thinks. */
  onGiveUp: () => void = () => {}
  onAsking: (asking: boolean) => void = () => {}
  readonly #methods: Method[]
  readonly #keysLeft: number
  readonly #credentials: Credentials
  readonly #ask: AskPrompt | undefined
  readonly #keysFirst: boolean
  readonly #gone = new AbortController()
  /** The method that ran last: the one that worked, after a sign-in. */
  #last: Method | undefined
  #partial = false
  #sent = false
  #asked = false
  #rounds = 0

  constructor(credentials: Credentials, { ask, keysFirst = false, refused, maxKeys }: SignInOptions = {}) {
    const plan = planMethods(credentials, { ...(refused ? { refused } : {}), ...(maxKeys ? { maxKeys } : {}) })
    this.#credentials = credentials
    this.#methods = plan.methods
    this.#keysLeft = plan.left
    this.#ask = ask
    this.#keysFirst = keysFirst
  }

  readonly handler: AuthHandlerMiddleware = (_left, _partial, answer) => {
    this.pending = false
    const method = this.next()
    this.pending = method !== undefined
    // ssh2 takes `false` for "nothing left", which its types leave out.
    answer(method ? this.#wire(method) : (false as never))
  }

  /** The server said no to the last request, or that more is needed (`partial`), and what it takes. */
  heard(offered: readonly string[], partial: boolean): void {
    this.pending = false
    this.offered = [...offered]
    if (!partial) this.refusedNow()
    else {
      this.#partial = true
      this.tookIt()
    }
  }

  /** The server took the last method. */
  tookIt(): void {
    const last = this.#last
    if (!last || last.kind === 'none') return
    this.accepted.push(nameOf(last))
    if ('key' in last) this.acceptedKey = last
  }

  /** The server asked by its own prompts. */
  get prompted(): boolean {
    return this.#rounds > 0
  }

  /** Something is left that the server would take, on another connection. */
  get unfinished(): boolean {
    const keys = this.offered.length === 0 || this.offered.includes(WIRE_NAME.key)
    return (keys && this.#keysLeft > 0) || this.#methods.some((method) => this.#fits(method))
  }

  /** The last method failed. */
  refusedNow(): void {
    const last = this.#last
    if (last && 'key' in last) this.refusedKeys.add(keyIdOf(last.key))
    if (last?.kind === 'password' || (last?.kind === 'keyboard' && this.#sent)) this.passwordRefused = true
    if (last?.kind === 'keyboard' && this.#asked) this.answerRefused = true
  }

  /** The next method the server would take; undefined when there is none. */
  next(): Method | undefined {
    const at = this.#methods.findIndex((method) => this.#fits(method))
    if (at < 0) return undefined
    const [method] = this.#methods.splice(at, 1)
    if (method!.kind !== 'none') this.tried.push(nameOf(method!))
    this.#last = method
    return method
  }

  /** The connection is gone: whoever is asked is told so. */
  end(): void {
    this.#gone.abort()
  }

  #fits(method: Method): boolean {
    if (this.offered.length > 0 && !this.offered.includes(WIRE_NAME[method.kind])) return false
    if (method.kind === 'password') return !this.#sent
    if (method.kind !== 'keyboard') return true
    const known = this.#credentials.password !== undefined && !this.#sent
    return known || this.#partial || this.#mayAsk()
  }

  #mayAsk(): boolean {
    return this.#ask !== undefined && (this.#partial || !this.#keysFirst)
  }

  #wire(method: Method): AnyAuthMethod {
    const username = this.#credentials.user
    switch (method.kind) {
      case 'none':
        return { type: 'none', username }
      case 'agent':
        return { type: 'agent', username, agent: onlyKey(this.#credentials.agent!, method.key) }
      case 'key':
        return { type: 'publickey', username, key: method.key }
      case 'password':
        this.#sent = true
        return { type: 'password', username, password: method.password }
      case 'keyboard':
        return {
          type: 'keyboard-interactive',
          username,
          prompt: (name, instructions, _lang, prompts, finish) =>
            void this.#answer(promptsOf(name, instructions, prompts)).then((answers) => answers && finish(answers)),
        }
    }
  }

  /** Undefined = the sign-in is over. */
  async #answer(prompts: ServerPrompt[] | undefined): Promise<string[] | undefined> {
    if (!prompts || ++this.#rounds > MAX_ROUNDS)
      return this.#giveUp(
        new Fault('ssh/protocol', 'permanent', { detail: 'it asks for more than anybody would answer' }),
      )
    const answers: string[] = []
    for (const prompt of prompts) {
      const { password } = this.#credentials
      if (prompt.password && password !== undefined && !this.#sent) {
        this.#sent = true
        answers.push(password)
        continue
      }
      if (!this.#mayAsk())
        return this.#giveUp(new Fault('ssh/code-needed', 'permanent', { prompt: prompt.prompt || prompt.instruction }))
      const answer = await this.#askFor(prompt)
      if (answer === undefined) return undefined
      answers.push(answer)
    }
    return answers
  }

  async #askFor(prompt: ServerPrompt): Promise<string | undefined> {
    const gone = this.#gone.signal
    this.asking = true
    this.onAsking(true)
    try {
      this.#asked = true
      const answer = await this.#ask!(prompt, gone)
      if (gone.aborted) return undefined
      this.asking = false
      this.onAsking(false)
      if (prompt.password) {
        this.#sent = true
        this.typed = answer
      }
      return answer
    } catch (error) {
      if (gone.aborted) return undefined
      return this.#giveUp(
        error instanceof Fault ? error : new Fault('app/cancelled', 'cancelled', {}, { cause: error }),
      )
    }
  }

  #giveUp(fault: Fault): undefined {
    this.gaveUp ??= fault
    this.onGiveUp()
  }
}

function nameOf(method: Method): string {
  switch (method.kind) {
    case 'agent':
      return `ssh-agent key ${method.key.comment || method.key.type}`
    case 'key':
      return `key ${method.file}`
    case 'keyboard':
      return 'keyboard-interactive'
    default:
      return method.kind
  }
}

function onlyKey(agent: BaseAgent, key: ParsedKey): BaseAgent {
  const narrowed = Object.create(agent) as BaseAgent
  narrowed.getIdentities = (done) => done(null, [key])
  return narrowed
}
