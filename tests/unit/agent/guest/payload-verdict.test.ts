import { describe, expect, it } from 'vitest'
import {
  type PayloadSigns,
  payloadOnConsole,
  payloadVerdict,
  seedLeavesWord,
} from '../../../../src/agent/guest/payload-verdict.ts'
import { payloadMark } from '../../../../src/agent/seed/fleet-payload.ts'
import { buildIso } from '../../../../src/agent/seed/iso9660.ts'
import { seedDocuments } from '../../../../src/agent/seed/seed-documents.ts'

const ID = '0123456789abcdef0123456789abcdef'
const OTHER = 'f'.repeat(32)
const signs = (change: Partial<PayloadSigns> = {}): PayloadSigns => ({
  vmId: ID,
  report: undefined,
  cloudInit: 'done',
  refused: false,
  leavesWord: true,
  ...change,
})

describe("the fleet's part", () => {
  it('is applied once the guest has its report to the end', () => {
    const report = `${ID}\ntrust ok\ndisk skipped there is no partition to grow\nclock ok\nend\n`
    expect(payloadVerdict(signs({ report }))).toEqual({ state: 'applied', detail: '' })
    expect(payloadVerdict(signs({ report, cloudInit: 'running' })).state).toBe('applied')
  })

  it('is not applied when a step failed, and the step is named', () => {
    const report = `${ID}\ndisk failed the file system did not grow\nclock ok\nend\n`
    expect(payloadVerdict(signs({ report }))).toEqual({
      state: 'not_applied',
      detail: 'Not all of it: disk: the file system did not grow.',
    })
  })

  it.each([
    ['of another VM', `${OTHER}\nclock ok\nend\n`],
    ['cut short', `${ID}\nclock ok\n`],
    ['empty', ''],
  ])('is not applied when its report is %s', (_, report) => {
    expect(payloadVerdict(signs({ report })).state).toBe('not_applied')
  })

  it.each([
    ['absent', 'has no cloud-init'],
    ['disabled', 'is disabled'],
    ['done', 'did not run it'],
    ['degraded', 'did not run it'],
    ['error', 'with errors'],
  ] as const)('that is missing where cloud-init is %s is not applied, and why', (cloudInit, words) => {
    const verdict = payloadVerdict(signs({ cloudInit }))
    expect(verdict.state).toBe('not_applied')
    expect(verdict.detail).toContain(words)
  })

  it('that user-data turned off says so', () => {
    expect(payloadVerdict(signs({ refused: true })).detail).toContain('user-data turns vendor data off')
  })

  it('is not judged before cloud-init ended, nor by a seed that leaves no word', () => {
    for (const cloudInit of ['running', ''] as const) expect(payloadVerdict(signs({ cloudInit })).state).toBe('')
    expect(payloadVerdict(signs({ leavesWord: false })).state).toBe('')
  })

  it('is known from the mark on the console of its own guest alone', () => {
    const console = (text: string) => payloadOnConsole(`boot\r\n${text}login: `, ID).state
    expect(console(payloadMark('applied', ID))).toBe('applied')
    expect(console(payloadMark('incomplete', ID))).toBe('not_applied')
    expect(console(payloadMark('applied', OTHER))).toBe('')
    expect(console(payloadMark('incomplete', ID) + payloadMark('applied', ID))).toBe('applied')
    expect(console('eitri-payload;applied')).toBe('')
  })

  it('leaves word when it comes from a seed of this release', () => {
    const seed = seedDocuments({
      vmId: ID,
      hostname: 'web',
      authorizedKeys: [],
      userData: new Uint8Array(),
      mac: '52:54:00:00:00:01',
      clock: 'auto',
      ssh: { userCas: [] },
    })
    expect(seedLeavesWord(buildIso('cidata', seed, new Date(0)))).toBe(true)
    expect(seedLeavesWord(buildIso('cidata', { ...seed, 'vendor-data': new Uint8Array(500) }, new Date(0)))).toBe(false)
  })
})
