import type { AnyAuthMethod, Prompt } from 'ssh2'
import { describe, expect, it } from 'vitest'
import { Fault } from '../../../../../../src/ipc/faults.ts'
import { keyIdOf } from '../../../../../../src/main/control/hosts/ssh/auth-plan.ts'
import { SignIn, type SignInOptions } from '../../../../../../src/main/control/hosts/ssh/auth-walk.ts'
import type { Credentials } from '../../../../../../src/main/control/hosts/ssh/credentials.ts'
import { MAX_ROUNDS } from '../../../../../../src/main/control/hosts/ssh/prompts.ts'
import { newSshKey } from '../../../../../support/ssh-key.ts'

const key = newSshKey().key
const aFile = { kind: 'key' as const, file: '/a', key }
const ALL = ['publickey', 'password', 'keyboard-interactive']

function walking(over: Partial<Credentials>, options?: SignInOptions) {
  const base = { user: 'ops', files: [], agentKeys: [], agent: undefined, password: undefined }
  const signIn = new SignIn({ ...base, ...over }, options)
  /** What goes to the server next; its type, or false for nothing. */
  const step = () => {
    let sent: AnyAuthMethod | false = false
    signIn.handler([] as never, null as never, (method) => {
      sent = method as AnyAuthMethod
    })
    return sent as (AnyAuthMethod & { type: string }) | false
  }
  const types = (times: number) => Array.from({ length: times }, () => (step() || { type: 'nothing' }).type)
  /** The server asks; undefined = the sign-in is over. */
  const asks = (method: unknown, ...prompts: Prompt[]) =>
    new Promise<string[] | undefined>((resolve) => {
      signIn.onGiveUp = () => resolve(undefined)
      const { prompt } = method as { prompt(...args: unknown[]): void }
      prompt('', '', '', prompts, resolve)
    })
  return { signIn, step, types, asks }
}
const PASSWORD = { prompt: 'Password: ' }
const CODE = { prompt: 'Verification code: ' }

describe('a sign-in', () => {
  it('skips what the server does not take, and remembers what it tried but never a secret', () => {
    const { signIn, step } = walking({ files: [aFile], password: 'hidden-word' })
    expect(step()).toMatchObject({ type: 'none' })
    signIn.heard(['password'], false)
    expect(step()).toMatchObject({ type: 'password' })
    signIn.heard(['password'], false)
    expect(step()).toBe(false)
    expect(signIn).toMatchObject({ tried: ['password'], passwordRefused: true })
    expect(JSON.stringify([signIn.tried, signIn.offered, signIn.accepted])).not.toContain('hidden-word')
  })

  it('comes back to a method that the server takes only after another one', () => {
    const { signIn, types } = walking({ files: [aFile], password: 'pw' })
    types(1)
    signIn.heard(['password'], false)
    expect(types(1)).toEqual(['password'])
    signIn.heard(['publickey'], true)
    expect(types(1)).toEqual(['publickey'])
    signIn.tookIt()
    expect(signIn.accepted).toEqual(['password', 'key /a'])
    expect(signIn.acceptedKey).toMatchObject({ file: '/a' })
    expect(signIn.passwordRefused).toBe(false)
  })

  it('sends a password once, whichever way the server takes it', async () => {
    const { signIn, step, asks } = walking({ password: 'pw' })
    step()
    signIn.heard(ALL, false)
    expect(await asks(step(), PASSWORD)).toEqual(['pw'])
    signIn.heard(ALL, false)
    expect(step()).toBe(false)
    expect(signIn.passwordRefused).toBe(true)
  })

  it('sends it as a password when the server takes its prompts and then asks nothing', () => {
    const { signIn, types } = walking({ password: 'pw' })
    types(1)
    signIn.heard(ALL, false)
    expect(types(1)).toEqual(['keyboard-interactive'])
    signIn.heard(ALL, false)
    expect(types(1)).toEqual(['password'])
  })

  it('answers the prompt for the password by itself and asks a person for the rest, in order', async () => {
    const asked: string[] = []
    const ask = async ({ prompt }: { prompt: string }) => `${asked.push(prompt)}`
    const { signIn, step, asks } = walking({ password: 'pw' }, { ask })
    step()
    signIn.heard(['keyboard-interactive'], false)
    const method = step()
    expect(await asks(method, PASSWORD, CODE)).toEqual(['pw', '1'])
    expect(await asks(method, { prompt: 'Colour?', echo: true })).toEqual(['2'])
    expect(asked).toEqual(['Verification code:', 'Colour?'])
    signIn.heard(['keyboard-interactive'], false)
    expect(signIn).toMatchObject({ answerRefused: true, passwordRefused: true })
  })

  it('never sends a password for a code: with nobody to ask it ends, and says what was asked', async () => {
    const { signIn, step, asks } = walking({ files: [aFile], password: 'pw' })
    step()
    signIn.heard(['publickey'], false)
    step()
    signIn.heard(['keyboard-interactive'], true)
    expect(await asks(step(), CODE)).toBeUndefined()
    expect(signIn.gaveUp).toMatchObject({ code: 'ssh/code-needed', params: { prompt: 'Verification code:' } })
    expect(signIn.passwordRefused).toBe(false)
  })

  it('lets no server ask without end', async () => {
    const { signIn, step, asks } = walking({}, { ask: async () => 'x' })
    step()
    signIn.heard(['keyboard-interactive'], false)
    const method = step()
    for (let round = 0; round < MAX_ROUNDS; round++) expect(await asks(method, CODE)).toEqual(['x'])
    expect(await asks(method, CODE)).toBeUndefined()
    expect(signIn.gaveUp?.code).toBe('ssh/protocol')
  })

  it('asks nobody before a locked key is opened, unless the server already took one', () => {
    const { signIn, types } = walking({}, { ask: async () => 'x', keysFirst: true })
    types(1)
    signIn.heard(['publickey', 'keyboard-interactive'], false)
    expect(types(1)).toEqual(['nothing'])
    signIn.heard(['keyboard-interactive'], true)
    expect(types(1)).toEqual(['keyboard-interactive'])
  })

  it('keeps the password a person typed at a prompt, and no other answer', async () => {
    const { signIn, step, asks } = walking({}, { ask: async ({ prompt }) => prompt.length.toString() })
    step()
    signIn.heard(['keyboard-interactive'], false)
    const method = step()
    await asks(method, PASSWORD)
    await asks(method, CODE)
    expect(signIn.typed).toBe('9')
  })

  it('ends when the person does not answer', async () => {
    const refuse = () => Promise.reject(new Fault('app/cancelled', 'cancelled'))
    const { signIn, step, asks } = walking({}, { ask: refuse })
    step()
    signIn.heard(['keyboard-interactive'], false)
    expect(await asks(step(), CODE)).toBeUndefined()
    expect(signIn.gaveUp?.code).toBe('app/cancelled')
  })

  it('says that it was asking when the server hung up', async () => {
    const waiting = Promise.withResolvers<void>()
    const ask = (_: unknown, gone: AbortSignal) => {
      waiting.resolve()
      return new Promise<string>((_, reject) => gone.addEventListener('abort', () => reject(gone.reason)))
    }
    const { signIn, step, asks } = walking({}, { ask })
    step()
    signIn.heard(['keyboard-interactive'], false)
    void asks(step(), CODE)
    await waiting.promise
    signIn.end()
    expect(signIn).toMatchObject({ asking: true, pending: true, gaveUp: undefined })
  })

  it('remembers which keys the server refused, and whether another connection could go on', () => {
    const other = newSshKey().key
    const { signIn, types } = walking({ files: [aFile, { ...aFile, file: '/b', key: other }] }, { maxKeys: 1 })
    types(1)
    signIn.heard(['publickey'], false)
    types(1)
    signIn.heard(['publickey'], false)
    expect(types(1)).toEqual(['nothing'])
    expect([...signIn.refusedKeys]).toEqual([keyIdOf(key)])
    expect(signIn.unfinished).toBe(true)
    expect(walking({ files: [aFile] }).signIn.refusedKeys.size).toBe(0)
  })
})
