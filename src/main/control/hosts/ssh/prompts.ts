import type { Prompt } from 'ssh2'
import { printable } from '../../../../ipc/fault-text.ts'

/** One thing a server asks by keyboard-interactive: its own words, bounded, without control characters. */
export interface ServerPrompt {
  instruction: string
  prompt: string
  /** The answer may be shown while it is typed. */
  echo: boolean
  /** It asks for the login's password, as far as its words tell. */
  password: boolean
}

/** Answers a prompt; rejects when nobody does. `gone` aborts when the server does not wait any longer. */
export type AskPrompt = (prompt: ServerPrompt, gone: AbortSignal) => Promise<string>

export const MAX_PROMPTS = 8
export const MAX_ROUNDS = 10
const PROMPT_CHARS = 200
const INSTRUCTION_CHARS = 400

/** Pure: one round of a server's prompts; undefined when it asks more than anybody would answer. */
export function promptsOf(name: string, instructions: string, prompts: readonly Prompt[]): ServerPrompt[] | undefined {
  if (prompts.length > MAX_PROMPTS) return undefined
  const instruction = [name, instructions].map(printable).filter(Boolean).join(': ').slice(0, INSTRUCTION_CHARS)
  return prompts.map(({ prompt, echo }) => {
    const words = printable(prompt).slice(0, PROMPT_CHARS)
    return { instruction, prompt: words, echo: echo === true, password: echo !== true && asksForPassword(words) }
  })
}

const PASSWORD = /pass ?word|passwort|kennwort|mot de passe|contrase[nñ]a|senha|hasło|пароль|密码|密碼|パスワード|암호/i
const CODE = /one[- ]?time|otp|verification|token|code|passcode|second|2fa|new|retype|again/i

/** Only words that surely mean the login's own password: a code answered with it would be a failed try on the server. */
const asksForPassword = (words: string): boolean => PASSWORD.test(words) && !CODE.test(words)
