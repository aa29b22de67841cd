import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { describe, expect, it } from 'vitest'
import { shownProblems, standingOf, waitsFor } from '../../../../../src/renderer/features/create/create-standing.ts'
import { emptyDraft } from '../../../../../src/renderer/features/create/create-vm-draft.ts'
import { reachWords } from '../../../../../src/renderer/features/create/placement.ts'
import { aHost, aTask } from '../../../../support/fake-fleet/rows.ts'

const NOW = 1_000_000
const begun = emptyDraft('vm-1')
const wrong = ['name', 'mem_mb', 'ports.0', 'image'].map((field) => ({ field, problem: 'it is wrong' }))
const fields = (change: object, pressed = false) =>
  shownProblems(wrong, { ...begun, ...change }, begun, pressed).map(({ field }) => field)

describe('what the create form complains about', () => {
  it('is nothing before anything was written', () => expect(fields({})).toEqual([]))

  it('is what was written, and no other field', () => {
    expect(fields({ memMb: '0' })).toEqual(['mem_mb'])
    expect(fields({ ports: [{ guestPort: 'x', hostPort: '', protocol: 'tcp' }] })).toEqual(['ports.0'])
  })

  it('is all of it once Create was pressed', () => expect(fields({}, true)).toHaveLength(4))
})

describe('what the create form waits for', () => {
  const step = { name: 'Download', state: 'running', doneBytes: 12_000_000n, totalBytes: 43_000_000n }
  const building = aTask({
    ...{ kind: 'build_image', subject: 'tiny', state: 'running' },
    steps: [{ ...step, startedAt: timestampFromMs(NOW - 41_000) }] as never,
  })

  it('is a host, then an image, said as no mistake', () => {
    expect(waitsFor(0, 0, [], NOW)).toBe('A host is needed first.')
    expect(waitsFor(1, 0, [], NOW)).toBe('An image is needed first: build or fetch one above.')
    expect(standingOf('A host is needed first.', wrong, 'It is full')?.tone).toBe('quiet')
  })

  it('is the step, the bytes and the time of an image on its way', () =>
    expect(waitsFor(1, 0, [building], NOW)).toBe('Waits for the image tiny: Download 1/1 · 12.0 MB of 43.0 MB · 41 s'))

  it('is nothing once there is one, whatever is being built beside it', () =>
    expect(waitsFor(1, 1, [building], NOW)).toBeUndefined())
})

describe('the foot of the create form', () => {
  it('names the field, or all of them, before what the host says', () => {
    expect(standingOf(undefined, wrong.slice(0, 1), 'It is full')?.text).toBe('Name: it is wrong.')
    expect(standingOf(undefined, wrong, undefined)?.text).toBe('4 fields need a look: Name, Memory, Ports, Image.')
    expect(standingOf(undefined, [], 'It is full')).toEqual({ tone: 'warn', text: 'It is full.' })
    expect(standingOf(undefined, [], undefined)).toBeUndefined()
  })
})

describe('who reaches a VM that publishes nothing', () => {
  const on = (kind: string) => aHost({ networks: [{ name: 'guests', kind }] as never })
  it('is its host, or with user-mode networking nobody', () => {
    expect(reachWords(on('nat'), '')).toBe('None: the VM is reachable from its host alone.')
    expect(reachWords(on('user'), '')).toContain('no address leads to the VM, not even on its host')
    expect(reachWords(undefined, 'office')).toBe(
      'None: nothing beyond its host reaches the VM. On office it has an address of its own.',
    )
  })
})
