import { describe, expect, it } from 'vitest'
import { hostChoices } from '../../../../../src/renderer/features/hosts/host-choices.ts'

const local = { possible: true, detail: '', added: false }
const texts = (typed: string, here = local) => hostChoices(['rack-1', 'edge'], here, typed).map(({ text }) => text)

describe('the hosts one can pick', () => {
  it('are those of the ssh configuration, and this computer', () =>
    expect(texts('')).toEqual(['rack-1', 'edge', 'This computer']))

  it('are those that have what is typed', () => {
    expect(texts('RACK')).toEqual(['rack-1'])
    expect(texts('this')).toEqual(['This computer'])
  })

  it('say why this computer cannot be taken, and keep it in the list', () => {
    const first = (change: object) => hostChoices([], { ...local, ...change }, 'this')[0]
    expect(first({})).toMatchObject({ isPossible: true })
    expect(first({ added: true })).toMatchObject({ isPossible: false, note: 'in the fleet already' })
    expect(first({ possible: false, detail: 'QEMU is not installed' })).toMatchObject({
      isPossible: false,
      note: 'QEMU is not installed',
    })
  })

  it('leave out this computer once it is in the fleet, until it is typed', () => {
    expect(texts('', { ...local, added: true })).toEqual(['rack-1', 'edge'])
    expect(hostChoices([], { ...local, added: true }, ' ')).toEqual([])
  })

  it('are the names alone while it is not known what this computer can', () =>
    expect(hostChoices(['a'], undefined, '').map(({ text }) => text)).toEqual(['a']))
})
