import { describe, expect, it } from 'vitest'
import { createSteps, fleetPart, imageStateText } from '../../../../../src/renderer/features/create/create-steps.ts'
import {
  checkedShape,
  createVmProblems,
  emptyDraft,
  fromTemplate,
  newVmId,
} from '../../../../../src/renderer/features/create/create-vm-draft.ts'
import { wordsAt } from '../../../../../src/renderer/features/create/editor-words.ts'
import { placeOn } from '../../../../../src/renderer/features/create/placement.ts'
import { readDraft } from '../../../../../src/renderer/features/create/use-create-draft.ts'
import { aHost, anImage } from '../../../../support/fake-fleet/rows.ts'

const NEED = { vcpus: 1, memMb: 512, diskGb: 10, archs: [], network: '' }

describe('a draft that was kept', () => {
  const empty = emptyDraft('vm-1')
  const kept = (draft: object, version = 1) => readDraft(JSON.stringify({ version, draft }), empty)

  it('comes back as it was left', () =>
    expect(kept({ ...empty, name: 'web', cloudInit: '#!/bin/sh' })).toMatchObject({
      name: 'web',
      cloudInit: '#!/bin/sh',
    }))

  it.each([
    ['another version', { ...empty }, 2],
    ['a field of another kind', { ...empty, ports: 'none' }, 1],
    ['a field less', { name: 'web' }, 1],
    ['ports that are none', { ...empty, ports: {} }, 1],
    ['a port that is none', { ...empty, ports: [null] }, 1],
    ['a port of another kind', { ...empty, ports: [{ guestPort: 80, hostPort: '', protocol: 'tcp' }] }, 1],
    ['a clock policy of a later version', { ...empty, clockPolicy: 'quantum' }, 1],
  ])('is forgotten with %s', (_, draft, version) => expect(kept(draft, version)).toBeUndefined())

  it('is forgotten when nobody can read it', () => {
    expect(readDraft('{', empty)).toBeUndefined()
    expect(readDraft(null, empty)).toBeUndefined()
  })

  it('asks for one VM, whatever is tried', () => expect(newVmId()).toMatch(/^[0-9a-f]{32}$/))
})

describe('what creating will do', () => {
  const host = aHost({ id: 'h1', name: 'rack' })
  const place = placeOn(host, NEED)
  const steps = (image: ReturnType<typeof anImage>, change: object = {}) => {
    const draft = { ...emptyDraft('web'), ...change }
    return createSteps({ image, place, shape: checkedShape(draft, image), draft }, { vms: [], tasks: [] })
  }

  it('begins with the image where it is, from where it comes, or how it is sent', () => {
    const first = (change: object) => steps(anImage({ name: 'deb', sizeBytes: 5_000_000n, ...change }))[0]?.text
    expect(first({ cachedOn: ['h1'] })).toBe('Use deb, already on rack')
    expect(first({ url: 'https://a.example.test/x.img' })).toBe('Fetch deb (5.0 MB) from a.example.test')
    expect(first({ url: 'no address' })).toBe('Fetch deb (5.0 MB) from no address')
    expect(first({ url: '' })).toBe('Send deb (5.0 MB) to rack')
  })

  it('gives no time nobody measured', () =>
    expect(steps(anImage({ url: '' })).flatMap(({ time }) => time ?? [])).toEqual([]))

  it('ends with ports and the template that were asked for', () => {
    const ports = [{ guestPort: '443', hostPort: '', protocol: 'tcp' as const }]
    const text = steps(anImage(), { ports, saveAs: 'shop' }).map((step) => step.text)
    expect(text).toContain('Publish 1 port')
    expect(text.at(-1)).toBe('Keep how it was made as the template shop')
  })

  it('says beside the image whether it is there', () => {
    expect(imageStateText(anImage({ cachedOn: ['h1'] }), place, [])).toBe('On rack already')
    expect(imageStateText(anImage({ name: 'deb', url: '', sizeBytes: 5_000_000n, cachedOn: [] }), place, [])).toBe(
      'Not on rack yet: send deb (5.0 MB) to rack',
    )
  })

  it('names what the fleet puts in', () =>
    expect(fleetPart(checkedShape({ ...emptyDraft('web'), sshKeys: 'ssh-ed25519 AAAA me' }, undefined))[0]).toBe(
      '1 SSH key for the first user',
    ))
})

describe('the create form', () => {
  it('takes no disk smaller than that of the image', () => {
    const image = anImage({ virtualBytes: 3n * 1024n ** 3n })
    const problems = createVmProblems({ ...emptyDraft('web'), diskGb: '2' }, image, new Set(), [])
    expect(problems).toEqual([{ field: 'disk_gb', problem: 'the disk of the image has 3 GB, and is never shrunk' }])
  })

  it('takes from a template what it says, and its user-data by its name', () => {
    const template = {
      name: 'shop',
      image: 'deb',
      vcpus: 2,
      memMb: 0,
      labels: { app: 'shop' },
      clockPolicy: '',
      network: '',
    } as never
    const image = anImage({ id: 'i1', name: 'deb' })
    expect(fromTemplate(template, [image])).toMatchObject({
      template: 'shop',
      image: 'i1',
      vcpus: '2',
      memMb: '',
      labels: 'app=shop',
      clockPolicy: 'auto',
    })
    expect(fromTemplate(undefined, [])).toEqual({ template: '' })
  })
})

describe('words the editor offers', () => {
  const at = (text: string) => {
    const lines = text.split('\n')
    return wordsAt({ lines: lines.slice(0, -1), line: lines.length - 1, before: lines.at(-1) ?? '' })
  }
  it('are headers in the first line', () => expect(at('#cl')?.words).toContain('#cloud-config'))
  it('are keys at the top', () =>
    expect(at('#cloud-config\npack')).toMatchObject({ from: 0, words: expect.arrayContaining(['packages']) }))
  it('are keys of a file in write_files', () =>
    expect(at('#cloud-config\nwrite_files:\n  - pa')).toMatchObject({
      from: 4,
      words: expect.arrayContaining(['path', 'permissions']),
    }))
  it('are names of v1 in a template', () => expect(at('hostname: {{ v1.loc')?.words).toContain('local_hostname'))
  it('are none in a value', () => expect(at('#cloud-config\nhostname: pa')).toBeUndefined())
})
