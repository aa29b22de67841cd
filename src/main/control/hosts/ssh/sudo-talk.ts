import { printable } from '../../../../ipc/fault-text.ts'
import { Fault } from '../../../../ipc/faults.ts'
import { shellWord } from './exec.ts'

/** Given only when sudo asks for it. */
export interface SudoAs {
  password: string | undefined
}

interface Talking {
  write(text: string): unknown
  close(): void
}

/** A line that stays open this long is a question. */
const QUIET_MS = 3_000
const DETAIL_CHARS = 200
const NO_TERMINAL = /must have a tty|no tty present/i
const FOR_GOOD = /not in the sudoers|is not allowed|may not run|account validation|not allowed to (run|execute)/i

/** The command by sudo; its prompt is told from all else by the mark, and says whose password it is. */
export const bySudo = (mark: string, command: string): string =>
  `sudo -S -p ${shellWord(`${mark}-password for %p `)} -- ${command}`

/**
 * Answers sudo's own prompt once. A second one means a wrong password: more is never sent, since what follows would be
 * taken for guesses.
 */
export class SudoTalk {
  readonly #mark: string
  readonly #sudo: SudoAs
  readonly #channel: Talking
  #asked = 0
  #whose = ''
  #refused: string | undefined
  #quiet: NodeJS.Timeout | undefined

  constructor(mark: string, sudo: SudoAs, channel: Talking) {
    this.#mark = mark
    this.#sudo = sudo
    this.#channel = channel
  }

  /** All it said so far. */
  heard(said: string): void {
    clearTimeout(this.#quiet)
    const prompts = [...said.matchAll(new RegExp(`${this.#mark}-password for (\\S+) `, 'g'))]
    const open = this.#words(said.slice(said.lastIndexOf('\n') + 1))
    if (prompts.length > this.#asked) this.#answer(prompts.length, prompts.at(-1)?.[1] ?? '')
    else if (open && !this.#refused)
      this.#quiet = setTimeout(() => this.#refuse(`it asks "${open}", which cannot be answered here`), QUIET_MS)
  }

  /** The command runs: no prompt comes any more. */
  stop(): void {
    clearTimeout(this.#quiet)
  }

  /** It ended without running the command. */
  fault(host: string, said: string): Fault {
    this.stop()
    const lines = this.#words(said).split('\n')
    const detail = this.#refused ?? lines.find((line) => FOR_GOOD.test(line)) ?? lines.at(-1)?.trim() ?? ''
    const another = this.#refused === WANTS || this.#refused === WRONG
    const next = FOR_GOOD.test(detail) ? 'Use a login that may use sudo there, or add the host without sudo.' : ''
    return new Fault('ssh/sudo-refused', 'permanent', {
      host,
      detail: printable(detail).slice(0, DETAIL_CHARS),
      ...(another ? { retry: 'password', whose: this.#whose } : {}),
      ...(next ? { next } : {}),
    })
  }

  /** What it said but for the marks. */
  #words(said: string): string {
    return said.replaceAll(new RegExp(`${this.#mark}-password for \\S+ `, 'g'), '').trim()
  }

  /** Whether it wants a terminal (requiretty). */
  static wantsTerminal(said: string): boolean {
    return NO_TERMINAL.test(said)
  }

  #answer(prompts: number, whose: string): void {
    this.#asked = prompts
    this.#whose = whose
    const { password } = this.#sudo
    if (prompts === 1 && password !== undefined) this.#channel.write(`${password}\n`)
    else this.#refuse(password === undefined ? WANTS : WRONG)
  }

  #refuse(why: string): void {
    this.#refused = why
    this.#channel.close()
  }
}

const WANTS = 'it asks for a password'
const WRONG = 'the password is wrong'
