import { describe, expect, it } from 'vitest'
import { lifecycleOf } from '../../../src/ipc/lifecycle.ts'

const of = (over: Partial<Parameters<typeof lifecycleOf>[0]>) =>
  lifecycleOf({ deleted: false, phase: 'ready', power: 'running', desiredPower: 'running', ...over })

describe('lifecycle', () => {
  it.each([
    ['deleting', 'deleted, whatever else is known', { deleted: true, phase: 'failed' }],
    ['failed', 'the host says the create failed', { phase: 'failed', power: 'stopped' }],
    ['creating', 'the host says so', { phase: 'creating', power: 'stopped' }],
    ['creating', 'no host said anything yet', { phase: undefined, power: undefined }],
    ['ready', 'it is whole and runs', {}],
    ['ready', 'it is paused', { power: 'paused' }],
    ['stopped', 'it is whole and off', { power: 'stopped' }],
    ['stopped', 'its power is unknown and it is wanted off', { power: undefined, desiredPower: 'stopped' }],
    ['suspended', 'it is suspended', { power: 'suspended' }],
  ] as const)('LIF-02: is %s when %s', (word, _reason, over) => {
    expect(of(over)).toBe(word)
  })
})
