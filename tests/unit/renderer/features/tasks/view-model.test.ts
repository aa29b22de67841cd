import { describe, expect, it } from 'vitest'
import { compareCommand } from '../../../../../src/renderer/features/tasks/compare-command.ts'
import {
  cancelWord,
  stepElapsed,
  stepFraction,
  taskLine,
  taskTitle,
} from '../../../../../src/renderer/features/tasks/view-model.ts'
import { aTask, at } from '../../../../support/fake-fleet/rows.ts'

const steps = [
  { name: 'Sign in', state: 'done', startedAt: at(1000), endedAt: at(1700) },
  { name: 'Install agent', state: 'running', startedAt: at(1700), doneBytes: 12_400_000n, totalBytes: 43_000_000n },
  { name: 'Start agent', state: 'waiting' },
]

describe('a task in one line', () => {
  it('names the step it is at, its number and its bytes', () => {
    expect(taskLine(aTask({ steps }))).toBe('Install agent 2/3 · 12.4 MB of 43.0 MB')
  })

  it('says what it asks about', () => {
    expect(taskLine(aTask({ steps, state: 'asking' }))).toBe('needs an answer: Install agent')
  })

  it('is called by what it does to what', () => {
    expect(taskTitle(aTask({ kind: 'build_image', subject: 'tiny' }))).toBe('Building image tiny')
    expect(taskTitle(aTask({ kind: 'sign_in', subject: 'rack1' }))).toBe('Signing in to rack1')
    expect(taskTitle(aTask({ kind: 'something_new', subject: 'x' }))).toBe('something_new x')
  })
})

it('a task is cancelled by the word for what it does', () => {
  expect(['add_host', 'sign_in'].map((kind) => cancelWord(aTask({ kind })))).toEqual(['Cancel adding', 'Cancel'])
})

describe('a step', () => {
  const task = aTask({ steps })
  it('counts while it runs and stops counting at its end', () => {
    expect(task.steps.map((s) => stepElapsed(s, 4200))).toEqual(['0.7 s', '2.5 s', ''])
  })

  it('has a bar only where there is something to measure, and never a full one', () => {
    expect(task.steps.map(stepFraction)).toEqual([undefined, expect.closeTo(0.288, 2), undefined])
    expect(stepFraction(aTask({ steps: [{ doneBytes: 9n, totalBytes: 9n }] }).steps[0]!)).toBe(0.99)
  })
})

it.each([
  ['ED25519', 'ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub'],
  ['ecdsa-sha2-nistp256', 'ssh-keygen -lf /etc/ssh/ssh_host_ecdsa_key.pub'],
  ['rsa-sha2-512', 'ssh-keygen -lf /etc/ssh/ssh_host_rsa_key.pub'],
])('a host key of type %s is compared with %s', (type, command) => expect(compareCommand(type)).toBe(command))
