import { create } from '@bufbuild/protobuf'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { PromptQuestionSchema, TaskQuestionSchema } from '../../../../src/ipc/gen/eitri/fleet/v1/task_pb.js'
import { runCli } from '../../../../src/main/cli/cli.ts'
import { FakeFleetServer } from '../../../support/fake-fleet-server.ts'
import { FakeTerminal } from '../../../support/fake-terminal.ts'

let fleet: FakeFleetServer

beforeEach(async () => {
  fleet = await FakeFleetServer.start()
})
afterEach(() => fleet.stop())

function start(argv: string[], io = new FakeTerminal()) {
  const embed = async () => ({ async stop() {} })
  return { io, code: runCli(argv, { io, now: () => 0, apiSocket: () => fleet.socketPath, embed, async serve() {} }) }
}

async function eitri(...argv: string[]) {
  const { io, code } = start(argv)
  io.stdin.end()
  return { code: await code, out: io.out, err: io.err }
}

describe('host sign-in', () => {
  const asking = (id: string, value: object) => {
    const prompt = create(PromptQuestionSchema, { of: 'ops@rack2', ...value })
    return create(TaskQuestionSchema, { id, kind: { case: 'prompt', value: prompt } })
  }

  it('asks what the host asks, in its words, and shows only what may be seen', async () => {
    const code1 = { instruction: 'Duo', prompt: 'Code:', problem: 'The host did not take that answer.' }
    fleet.host({ name: 'rack2' })
    fleet.task = { state: 'asking', question: asking('q1', code1) }
    fleet.onAnswer = ({ taskId, questionId }) => {
      const [task] = fleet.tasks.values()
      const next = { ...task!, question: asking('q2', { prompt: 'Colour?', echo: true }) }
      fleet.tasks.set(taskId, questionId === 'q1' ? next : { ...task!, state: 'done' })
      fleet.push()
    }
    const { io, code } = start(['host', 'sign-in', 'rack2'], new FakeTerminal({ tty: true }))
    await io.until(() => io.err.includes('The host did not take that answer. Duo ops@rack2: Code:'))
    io.type('123456\r')
    await io.until(() => io.err.includes('ops@rack2: Colour?'))
    io.type('blue\r')
    expect(await code).toBe(0)
    expect(fleet.answers.map((a) => a.answer.value)).toEqual(['123456', 'blue'])
    expect(io.err).not.toContain('123456')
    expect(io.err).toContain('blue')
  })

  it('leaves a question that the host asks no more, and asks the next', async () => {
    fleet.host({ name: 'rack2' })
    fleet.task = { state: 'asking', question: asking('q1', { prompt: 'Code:' }) }
    fleet.onAnswer = ({ taskId }) => {
      fleet.tasks.set(taskId, { ...fleet.tasks.get(taskId)!, state: 'done' })
      fleet.push()
    }
    const { io, code } = start(['host', 'sign-in', 'rack2'], new FakeTerminal({ tty: true }))
    await io.until(() => io.err.includes('Code:'))
    io.type('12')
    const [task] = fleet.tasks.values()
    const again = asking('q2', { prompt: 'Code:', problem: 'The host did not wait for the answer.' })
    fleet.tasks.set(task!.id, { ...task!, question: again })
    fleet.push()
    await io.until(() => io.err.includes('did not wait'))
    io.type('345678\r')
    expect(await code).toBe(0)
    expect(fleet.answers.map((a) => [a.questionId, a.answer.value])).toEqual([['q2', '345678']])
  })

  it('is not possible without a terminal when the host asks for a code: it says for what', async () => {
    fleet.host({ name: 'rack2' })
    fleet.task = { state: 'asking', question: asking('q1', { prompt: 'Verification code:' }) }
    const { code, err } = await eitri('host', 'sign-in', 'rack2')
    expect(code).toBe(3)
    expect(err).toContain('ops@rack2 asks for "Verification code:" at the sign-in.')
    expect(fleet.cancelled).toHaveLength(1)
  })

  it('hands on secrets from standard input and where they stay, and forgets them', async () => {
    fleet.host({ name: 'rack2', secretsKept: 'keychain' })
    const { io, code } = start(['host', 'sign-in', 'rack2', '--password-stdin', '--keep', 'keychain'])
    io.stdin.end('pw\nsu\n')
    expect(await code).toBe(0)
    expect(io.out).toMatch(/secrets in: +keychain/)
    expect((await eitri('host', 'sign-in', 'rack2', '--forget')).code).toBe(0)
    expect((await eitri('host', 'sign-in', 'rack2', '--forget', '--keep', 'memory')).code).toBe(2)
    expect(fleet.calls).toEqual(['signInHost rack2 pw su keychain true', 'forgetHostSecrets rack2'])
  })
})
