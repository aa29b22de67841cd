import { describe, expect, it } from 'vitest'
import { cloudInitVerdict, payloadVerdict } from '../../../src/ipc/guest-words.ts'

const guest = {
  guestAgent: 'answering',
  cloudInit: '',
  modules: [] as { name: string; stage: string; result: string; detail: string }[],
  fleetPayload: '',
  fleetPayloadDetail: '',
}
const module = (name: string, result = 'failed') => ({ name, stage: 'modules-final', result, detail: '' })

describe('how far cloud-init got', () => {
  it('names the modules that failed', () => {
    const modules = [module('runcmd'), module('packages')]
    expect(cloudInitVerdict({ ...guest, cloudInit: 'error', modules })).toEqual({
      tone: 'bad',
      text: 'cloud-init finished with 2 errors (runcmd, packages).',
      effect: 'The VM runs.',
    })
    const mixed = [module('runcmd'), module('ssh', 'warned')]
    expect(cloudInitVerdict({ ...guest, cloudInit: 'degraded', modules: mixed })).toMatchObject({
      tone: 'warn',
      text: 'cloud-init finished with 1 error (runcmd) and 1 warning (ssh).',
    })
    expect(cloudInitVerdict({ ...guest, cloudInit: 'error' }).text).toBe(
      'cloud-init finished with errors it did not name.',
    )
  })

  it.each([
    ['running', 'busy'],
    ['done', 'good'],
    ['disabled', 'warn'],
    ['absent', 'warn'],
    ['', 'unknown'],
    ['a word of tomorrow', 'unknown'],
  ])('"%s" is told as %s', (cloudInit, tone) => expect(cloudInitVerdict({ ...guest, cloudInit }).tone).toBe(tone))

  it('says who did not say, where nobody could', () => {
    expect(cloudInitVerdict(undefined).text).toMatch(/not asked/)
    expect(cloudInitVerdict({ ...guest, guestAgent: 'silent' }).text).toMatch(/no guest agent answers/)
    expect(cloudInitVerdict(guest).text).toMatch(/could not say/)
  })
})

describe('the fleet payload', () => {
  it('is not applied for a reason, applied, or nobody could say', () => {
    const why = { fleetPayload: 'not_applied', fleetPayloadDetail: 'user-data switches vendor data off.' }
    expect(payloadVerdict({ ...guest, ...why })).toMatchObject({
      tone: 'warn',
      text: 'Fleet payload not applied: user-data switches vendor data off.',
    })
    expect(payloadVerdict({ ...guest, fleetPayload: 'applied' })?.tone).toBe('good')
    expect(payloadVerdict(guest)).toBeUndefined()
    expect(payloadVerdict(undefined)).toBeUndefined()
  })
})
