import { describe, expect, it } from 'vitest'
import { nextSecret, SECRET_TRIES } from '../../../../../src/main/control/hosts/sign-in.ts'
import type { Credentials } from '../../../../../src/main/control/hosts/ssh/credentials.ts'

describe('the next secret to ask for', () => {
  const locked = { kind: 'locked' as const, file: '/id' }
  const none = { passphrase: 0, password: 0, answer: 0 }
  const next = (files: Credentials['files'], offered: string[], asked = none, heard = {}) =>
    nextSecret(
      { files, password: undefined },
      { offered, prompted: false, passwordRefused: false, answerRefused: false, ...heard },
      asked,
    )

  it('is the passphrase of a locked key where keys are taken', () => {
    expect(next([locked], ['publickey', 'password'])).toEqual({ ask: 'passphrase', of: '/id', problem: '' })
    expect(next([{ ...locked, kind: 'wrong' }], ['publickey']).ask).toBe('passphrase')
  })

  it('is the password otherwise, and says so when one was refused', () => {
    expect(next([locked], ['password'])).toEqual({ ask: 'password', problem: '' })
    const refused = next([], ['password'], none, { passwordRefused: true })
    expect(refused).toMatchObject({ ask: 'password', problem: expect.stringMatching(/did not take/) })
    const unasked = next([], ['password', 'keyboard-interactive'], none, { passwordRefused: true })
    expect(unasked.ask).toBe('password')
  })

  it('is what the server asks itself once it did not take an answer', () => {
    const wrong = { prompted: true, answerRefused: true }
    expect(next([], ['keyboard-interactive', 'password'], none, wrong)).toMatchObject({
      ask: 'answer',
      problem: 'The host did not take that answer.',
    })
    expect(next([], ['keyboard-interactive'], { ...none, answer: SECRET_TRIES }, wrong).ask).toBeUndefined()
  })

  it('is asked for three times and no more', () => {
    expect(next([], ['password'], { ...none, password: SECRET_TRIES }).ask).toBeUndefined()
    const refused = next([locked], ['publickey'], { ...none, passphrase: SECRET_TRIES })
    expect(refused).toMatchObject({ ask: undefined, fault: { code: 'ssh/passphrase-wrong' } })
  })

  it('is none where only keys are taken and none is locked', () => {
    expect(next([], ['publickey']).ask).toBeUndefined()
  })
})
