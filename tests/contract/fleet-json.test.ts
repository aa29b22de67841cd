import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { faultLine } from '../../src/ipc/fault-text.ts'
import { rawCall } from '../support/raw-api.ts'
import { ScriptedHost } from '../support/scripted-host.ts'

let rig: ScriptedHost

beforeAll(async () => {
  rig = await ScriptedHost.open()
})
afterAll(() => rig?.[Symbol.asyncDispose]())

async function call(method: string, body: object | string) {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const { status, headers, body: bytes } = await rawCall(rig.apiSocket, `eitri.fleet.v1.${method}`, text)
  return { status, type: headers['content-type'], answer: JSON.parse(bytes.toString()) as Record<string, any> }
}

describe('the fleet API as plain JSON', () => {
  it('says in the message of an error what happened, its effect and the next move, and keeps the fault beside it', async () => {
    const { status, answer } = await call('VmService/GetVm', { vm: 'nowhere' })
    expect([status, answer['code']]).toEqual([404, 'not_found'])
    expect(answer['message']).toBe(faultLine('vm/not-found', { vm: 'nowhere' }))
    expect(answer['details'][0].debug).toMatchObject({ code: 'vm/not-found', params: { vm: 'nowhere' } })
  })

  it.each(['VmService/FetchVm', 'PetService/ListPets'])(
    'answers a call that is not there, %s, as JSON',
    async (method) => {
      const { status, type, answer } = await call(method, {})
      expect([status, type]).toEqual([404, 'application/json'])
      expect(answer).toEqual({ code: 'unimplemented', message: expect.stringContaining(`eitri.fleet.v1.${method}`) })
      expect(answer['message']).toMatch(/Nothing was changed\. .*docs\/openapi\.json/)
    },
  )

  it('refuses a field that no call has, by its name, and makes nothing', async () => {
    const image = { image_url: 'https://images.example.test/a.qcow2', image_sha256: 'd'.repeat(64) }
    const { status, answer } = await call('VmService/CreateVm', { name: 'w2', ...image, bogus: 1 })
    expect([status, answer['code']]).toEqual([400, 'invalid_argument'])
    expect(answer['message']).toContain('"bogus"')
    expect((await rig.client.vms.listVms({})).vms).toEqual([])
  })

  it('never says a private key again that somebody sent in the place of another text', async () => {
    const key = '-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAA\n-----END OPENSSH PRIVATE KEY-----'
    const { status, answer } = await call('TrustService/IssueCertificate', { public_key: key, login: 'root' })
    expect(status).toBe(400)
    expect(JSON.stringify(answer)).not.toMatch(/BEGIN|b3Blbn/)
    expect(answer['message']).toContain('that is the private key; give FILE.pub')
    const asName = await call('VmService/GetVm', { vm: key.slice(0, 60) })
    expect(JSON.stringify(asName.answer)).not.toMatch(/BEGIN|b3Blbn/)
  })
})
