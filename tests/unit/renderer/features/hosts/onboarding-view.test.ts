import { describe, expect, it } from 'vitest'
import { agentCommands } from '../../../../../src/renderer/features/hosts/agent-commands.ts'
import { joinCommand } from '../../../../../src/renderer/features/hosts/join-command.ts'
import { labelChange } from '../../../../../src/renderer/features/hosts/label-change.ts'
import {
  acceptedKey,
  failedStep,
  leftWords,
  showsLog,
} from '../../../../../src/renderer/features/hosts/onboarding-view.ts'
import { triedSoFar } from '../../../../../src/renderer/features/tasks/view-model.ts'
import { aTask } from '../../../../support/fake-fleet/rows.ts'

const step = (name: string, state: string, log: string[] = []) => ({ name, state, log })

describe('an onboarding that failed', () => {
  const task = aTask({ state: 'failed', steps: [step('Sign in', 'failed'), step('Install agent', 'waiting')] })
  it('names the step, has its log open and says what stays on the host', () => {
    expect(failedStep(task)?.name).toBe('Sign in')
    expect(task.steps.map(showsLog)).toEqual([true, false])
    expect(leftWords(task)).toBe('Nothing was put on the host.')
    const later = aTask({ steps: [step('Install agent', 'done'), step('Start agent', 'failed')] })
    expect(leftWords(later)).toContain('taken away again')
  })
})

describe('a new try after a failure', () => {
  const checked = (detail: string) => acceptedKey(aTask({ steps: [{ ...step('Check host key', 'done'), detail }] }))
  it('does not ask again for the key that was accepted, and for no other', () => {
    expect(checked('ssh-ed25519 SHA256:3n4K+/x, accepted by you')).toBe('SHA256:3n4K+/x')
    expect(checked('ssh-ed25519 SHA256:3n4K, known already')).toBe('')
    expect(acceptedKey(aTask())).toBe('')
  })
})

describe('a question at the sign-in', () => {
  it('comes with what was tried before it', () => {
    const asking = aTask({
      state: 'asking',
      steps: [step('Sign in', 'running', ['agent key refused', 'id_ed25519 refused'])],
    })
    expect(triedSoFar(asking)).toEqual(['agent key refused', 'id_ed25519 refused'])
    expect(triedSoFar(aTask({ steps: [step('Look at host', 'running', ['x'])] }))).toEqual([])
  })
})

describe('what is said for a shell on the host', () => {
  it('goes by who runs the agent and what starts it', () => {
    expect(agentCommands({ runsAs: 'root', startedBy: 'systemd', address: 'ops@a:22' })).toEqual({
      log: 'sudo journalctl -u eitri-agent -n 200 --no-pager',
      doctor: 'sudo eitri-agent doctor',
    })
    expect(agentCommands({ runsAs: 'ops', startedBy: 'systemd-user', address: 'ops@a:22' }).log).toContain('--user')
    expect(agentCommands({ runsAs: 'ops', startedBy: 'cron', address: 'ops@a:22' }).log).toContain('agent.log')
  })
  it('keeps a blob out of the list of processes', () => {
    expect(joinCommand('BLOB')).toBe("printf '%s\\n' 'BLOB' | eitri-agent join -")
  })
})

describe('a change of labels', () => {
  it('sets what is new or other, and takes away what is gone', () => {
    expect(labelChange({ a: '1', b: '' }, { a: '2', c: '' })).toEqual({ set: { a: '2', c: '' }, remove: ['b'] })
  })
})
