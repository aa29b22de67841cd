import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { CommandPart } from '../../../../src/agent/backends/backend.ts'
import { compareCommands } from '../../../../src/agent/show-command/compare-commands.ts'

const part = (...args: string[]): CommandPart => ({ args, why: `why ${args[0]}` })
const next = [part('qemu'), part('-m', '512'), part('-device', 'a'), part('-device', 'b'), part('-nodefaults')]
const argv = (parts: readonly CommandPart[]) => parts.flatMap(({ args }) => args)
const brief = (running: string[], parts = next) =>
  compareCommands(running, parts).map(({ args, where }) => `${where} ${args.join(' ')}`)

describe('what runs beside what the next start would use', () => {
  it('is one list of what both have when nothing differs, each with what it is for', () => {
    const shown = compareCommands(argv(next), next)
    expect(shown.map(({ where }) => where)).toEqual(Array(5).fill('both'))
    expect(shown.map(({ why }) => why)).toEqual(next.map(({ why }) => why))
  })

  it('has a new value behind the one it replaces', () => {
    expect(brief(['qemu', '-m', '256', '-device', 'a', '-device', 'b', '-nodefaults'])).toEqual([
      'both qemu',
      'running -m 256',
      'next -m 512',
      'both -device a',
      'both -device b',
      'both -nodefaults',
    ])
  })

  it('has an option that is gone where it stands, and a new one behind its neighbour', () => {
    expect(brief(['qemu', '-old', '-m', '512', '-device', 'a', '-nodefaults'])).toEqual([
      'both qemu',
      'running -old',
      'both -m 512',
      'both -device a',
      'next -device b',
      'both -nodefaults',
    ])
  })

  it('tells two of one option apart, in whatever order they run', () => {
    expect(brief(['qemu', '-device', 'b', '-device', 'a', '-m', '512', '-nodefaults'])).not.toContainEqual(
      expect.stringMatching(/^(running|next) /),
    )
  })

  it('keeps every argument of both, whatever they are', () => {
    const words = fc.constantFrom('-a', '-b', 'x', 'y', 'z')
    const parts = fc.array(
      fc.array(words, { minLength: 1, maxLength: 2 }).map((args) => part(...args)),
      { maxLength: 6 },
    )
    fc.assert(
      fc.property(fc.array(words, { maxLength: 12 }), parts, (running, planned) => {
        const shown = compareCommands(running, planned)
        expect(argv(shown.filter(({ where }) => where !== 'next'))).toEqual(running)
        expect(argv(shown.filter(({ where }) => where !== 'running')).toSorted()).toEqual(argv(planned).toSorted())
      }),
    )
  })
})
