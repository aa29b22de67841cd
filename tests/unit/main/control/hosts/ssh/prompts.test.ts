import { describe, expect, it } from 'vitest'
import { MAX_PROMPTS, promptsOf } from '../../../../../../src/main/control/hosts/ssh/prompts.ts'

const one = (prompt: string, echo = false) => promptsOf('', '', [{ prompt, echo }])?.[0]

describe('what a server asks', () => {
  it('is shown in its own words, with its instruction and whether the answer may be seen', () => {
    expect(promptsOf('Duo', 'Push or passcode', [{ prompt: 'Passcode: ', echo: true }])).toEqual([
      { instruction: 'Duo: Push or passcode', prompt: 'Passcode:', echo: true, password: false },
    ])
  })

  it('is bounded, and has no control characters', () => {
    const hostile = promptsOf('\x1b[2J', `a\r\n\x07b${'i'.repeat(5000)}`, [
      { prompt: `\x1b]0;x\x07${'p'.repeat(5000)}` },
    ])
    expect(hostile?.[0]?.prompt).toMatch(/^\]0;x p{190,}$/)
    expect(hostile?.[0]?.prompt.length).toBeLessThanOrEqual(200)
    expect(hostile?.[0]?.instruction.length).toBeLessThanOrEqual(400)
    expect(JSON.stringify(hostile)).not.toMatch(/\\u00|\\r|\\n/)
  })

  it('is nothing when it asks more at once than anybody would answer', () => {
    const prompts = Array.from({ length: MAX_PROMPTS + 1 }, () => ({ prompt: 'again?' }))
    expect(promptsOf('', '', prompts)).toBeUndefined()
    expect(promptsOf('', '', prompts.slice(1))).toHaveLength(MAX_PROMPTS)
  })

  it.each([
    'Password: ',
    'Password for dev@rack1:',
    '(dev@rack1) Password:',
    'Passwort:',
    'Mot de passe :',
    'Contraseña:',
  ])('is the password by the words %j', (words) => expect(one(words)?.password).toBe(true))

  it.each([
    'Verification code: ',
    'One-time password (OATH) for dev: ',
    'Password token: ',
    'Enter passcode: ',
    'New password: ',
    'Second password:',
    'Response: ',
    '',
  ])('is not the password by the words %j', (words) => expect(one(words)?.password).toBe(false))

  it('is never the password when the answer would be shown', () => {
    expect(one('Password: ', true)?.password).toBe(false)
  })
})
