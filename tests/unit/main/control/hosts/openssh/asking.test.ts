import { describe, expect, it } from 'vitest'
import type { Fault } from '../../../../../../src/ipc/faults.ts'
import { type AnswersOptions, PromptAnswers } from '../../../../../../src/main/control/hosts/openssh/answers.ts'
import { answerText, parseAsked } from '../../../../../../src/main/control/hosts/openssh/ask-desk.ts'
import { readPrompt } from '../../../../../../src/main/control/hosts/openssh/prompt-words.ts'
import type { Answer, Question } from '../../../../../../src/main/control/tasks/task-context.ts'

const AUTHENTICITY = `The authenticity of host 'bastion (10.0.0.1)' can't be established.
ED25519 key fingerprint is SHA256:POtUPQcEKG9uIBzOL86q7qzM5r9cZyW14WR+mBKSc0I.
This key is not known by any other names.
Are you sure you want to continue connecting (yes/no/[fingerprint])? `

describe('a prompt of ssh', () => {
  it.each([
    [
      "Enter passphrase for key '/home/ops/.ssh/id_ed25519': ",
      { kind: 'passphrase', file: '/home/ops/.ssh/id_ed25519' },
    ],
    ["ops@10.0.0.7's password: ", { kind: 'password', of: 'ops@10.0.0.7' }],
    ['(ops@10.0.0.7) Verification code: ', { kind: 'server', of: 'ops@10.0.0.7', prompt: 'Verification code:' }],
    ['(ops@rack1) Password: ', { kind: 'server', of: 'ops@rack1', prompt: 'Password:' }],
    [
      AUTHENTICITY,
      {
        kind: 'host-key',
        host: 'bastion',
        keyType: 'ED25519',
        fingerprint: 'SHA256:POtUPQcEKG9uIBzOL86q7qzM5r9cZyW14WR+mBKSc0I',
      },
    ],
    [
      'Enter PIN for ED25519-SK key /home/ops/.ssh/sk: ',
      { kind: 'other', prompt: 'Enter PIN for ED25519-SK key /home/ops/.ssh/sk:' },
    ],
    ["Enter PIN for 'token': ", { kind: 'other', prompt: "Enter PIN for 'token':" }],
    ['', { kind: 'other', prompt: '' }],
  ])('%j is read', (text, prompt) => expect(readPrompt(text)).toEqual(prompt))
})

describe('a question ssh lays down', () => {
  const asked = (...words: string[]) => parseAsked(Buffer.from(words.map((word) => `${word}\0`).join('')))

  it('is a prompt with its hint, or a host key', () => {
    expect(asked('prompt', 'none', 'Touch it')).toEqual({ kind: 'prompt', hint: 'none', text: 'Touch it' })
    expect(asked('host-key', 'HOSTNAME', 'ssh-ed25519', 'AAAA', '[h]:22')).toEqual({
      kind: 'host-key',
      reason: 'HOSTNAME',
      type: 'ssh-ed25519',
      key: Buffer.from('AAAA', 'base64'),
      name: '[h]:22',
    })
    expect(asked('host-key', 'ORDER', 'NONE', 'NONE', 'h', '--', '/bin/theirs')).toMatchObject({
      reason: 'ORDER',
      key: Buffer.alloc(0),
    })
  })

  it.each([[[]], [['prompt', 'x']], [['host-key', 'HOSTNAME']], [['other', 'a', 'b']]])('%j is none', (words) =>
    expect(asked(...words)).toBeUndefined(),
  )

  it('is answered line by line, and with no where an answer cannot be said', () => {
    expect(answerText(['a b', ''])).toBe('=a b\n=\nyes\n')
    expect(answerText([])).toBe('yes\n')
    expect(answerText(undefined)).toBe('no\n')
    expect(answerText(['two\nlines'])).toBe('no\n')
    expect(answerText(['x'.repeat(60_000)])).toBe('no\n')
  })
})

describe('answers to prompts', () => {
  const desk = (over: Partial<AnswersOptions> = {}, answers: Answer[] = []) => {
    const asked: Question[] = []
    const faults: Fault[] = []
    const ask = async (question: Question) => {
      asked.push(question)
      return answers[asked.length - 1] ?? {}
    }
    const options = {
      host: 'rack1',
      secretsOf: () => ({}),
      passphrases: [],
      instruction: () => '',
      giveUp: (fault: Fault) => void faults.push(fault),
      ...(answers.length > 0 ? { ask } : {}),
      ...over,
    }
    return { desk: new PromptAnswers(options), asked, faults }
  }
  const KEY = "Enter passphrase for key '/k': "

  it('are what is known, once each, before anybody is asked', async () => {
    const { desk: answers, asked } = desk({ passphrases: ['one', 'two'] }, [{ secret: 'three' }])
    expect([await answers.answer('', KEY), await answers.answer('', KEY)]).toEqual([['one'], ['two']])
    expect(await answers.answer('', KEY)).toEqual(['three'])
    expect(asked).toMatchObject([{ problem: 'That passphrase does not open the key.' }])
    expect(answers.learnt.passphrase).toBe('three')
  })

  it('send a password once, to its own login', async () => {
    const secretsOf = (login: string) => (login === 'ops@rack1' ? { password: 'mine' } : {})
    const { desk: answers, faults } = desk({ secretsOf })
    expect(await answers.answer('', "ops@bastion's password: ")).toBeUndefined()
    expect(faults).toMatchObject([{ code: 'ssh/auth-refused', params: { address: 'ops@bastion', methods: '' } }])
    expect(await answers.answer('', "ops@rack1's password: ")).toEqual(['mine'])
    expect(await answers.answer('', "ops@rack1's password: ")).toBeUndefined()
    expect(faults.at(-1)).toMatchObject({ params: { methods: 'password' } })
  })

  it('leave a locked key locked when nobody is there, and remember it', async () => {
    const { desk: answers, faults } = desk()
    expect(await answers.answer('', KEY)).toBeUndefined()
    expect(faults).toEqual([])
    expect(answers.locked).toBe('/k')
  })

  it('end it for a code when nobody is there', async () => {
    const { desk: answers, faults } = desk({ secretsOf: () => ({ password: 'mine' }) })
    expect(await answers.answer('', '(ops@rack1) Verification code: ')).toBeUndefined()
    expect(faults).toMatchObject([
      { code: 'ssh/code-needed', params: { host: 'rack1', address: 'ops@rack1', prompt: 'Verification code:' } },
    ])
  })

  it('show a hardware key that waits until the next thing happens', async () => {
    const withdrawn: boolean[] = []
    const questions: Question[] = []
    const ask = (question: Question, gone?: AbortSignal) => {
      questions.push(question)
      return new Promise<Answer>((_, reject) =>
        gone?.addEventListener('abort', () => {
          withdrawn.push(true)
          reject(gone.reason)
        }),
      )
    }
    const { desk: answers } = desk({ ask })
    expect(await answers.answer('none', 'Confirm user presence for key ED25519-SK SHA256:abc')).toEqual([])
    expect(questions).toMatchObject([
      {
        kind: 'prompt',
        instruction: 'Touch your security key.',
        prompt: 'Confirm user presence for key ED25519-SK SHA256:abc',
      },
    ])
    answers.end()
    expect(withdrawn).toEqual([true])
  })

  it('take only the very fingerprint for a yes to the host key of a ProxyCommand’s own ssh', async () => {
    const fingerprint = 'SHA256:POtUPQcEKG9uIBzOL86q7qzM5r9cZyW14WR+mBKSc0I'
    expect(await desk({}, [{ fingerprint }]).desk.answer('', AUTHENTICITY)).toEqual([fingerprint])
    const { desk: answers, faults } = desk({}, [{ agree: true }])
    expect(await answers.answer('', AUTHENTICITY)).toBeUndefined()
    expect(faults).toMatchObject([{ code: 'ssh/host-key-unknown', params: { host: 'bastion', fingerprint } }])
  })
})
