import { afterEach, describe, expect, it } from 'vitest'
import { aPerson, dialLab, type Person } from '../../../../../support/openssh-dial.ts'

let person: Person | undefined
afterEach(() => person?.remove())

describe('a dial by the system’s ssh', () => {
  it('that cannot even begin leaves no folder and no watch behind', async () => {
    person = aPerson()
    const typed = { host: 'no\0host' }
    const watches = () => process.getActiveResourcesInfo().filter((name) => name === 'FSEventWrap')
    const before = watches().length
    await expect(dialLab(person, { port: 1, user: 'ops', keyFile: '/k' }, { typed })).rejects.toThrow('null bytes')
    expect(person.connections()).toEqual([])
    expect(watches().length).toBe(before)
  })
})
