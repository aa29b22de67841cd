import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { apiDocument, problemsOf, unaryMethods } from '../support/api-document.ts'
import { rawCall } from '../support/raw-api.ts'
import { runProgram } from '../support/run-program.ts'
import { ScriptedHost } from '../support/scripted-host.ts'

const ROOT = join(import.meta.dirname, '../..')
const MANUAL = join(ROOT, 'docs/api.md')

/** The shell blocks of the manual, in order; the first defines what the others use. */
const blocks = [...readFileSync(MANUAL, 'utf8').matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, text]) => text as string)

let rig: ScriptedHost
beforeEach(async () => {
  rig = await ScriptedHost.open()
})
afterEach(() => rig[Symbol.asyncDispose]())

const ask = async (path: string, body = '{}') => {
  const { status, body: answer } = await rawCall(rig.apiSocket, path, body)
  return { status, json: JSON.parse(answer.toString()) as any }
}

describe('the document of the fleet API', () => {
  it('what lists and reads answer is what the document says, for a fleet with something of everything', async () => {
    const id = await rig.vm('web')
    rig.agent.report({ vms: [{ vmId: id, phase: 'ready', power: 'running', ip: '10.0.0.9', consoleEnd: 5n }] })
    await rig.client.ports.publishPort({ vm: 'web', guestPort: 80 })
    await rig.client.vms.stopVm({ vm: 'web' })
    const reads: Record<string, string> = {
      'HostService/GetHost': '{"host":"rack"}',
      'VmService/GetVm': '{"vm":"web"}',
      'FleetService/GetInfo': '{}',
    }
    const lists = unaryMethods.filter((method) => /\/List[A-Z]\w+$/.test(method))
    expect(lists.length).toBeGreaterThan(6)
    for (const method of [...lists, ...Object.keys(reads)]) {
      const { status, json } = await ask(`eitri.fleet.v1.${method}`, reads[method])
      expect(status, `${method}: ${JSON.stringify(json)}`).toBe(200)
      expect(problemsOf(method, json), method).toBeNull()
    }
    expect((await ask('eitri.fleet.v1.VmService/ListVms')).json.vms).toHaveLength(1)
  })

  it('finds fault with a null, with a number for a 64-bit value, and with a field that is missing or too many', async () => {
    const method = 'HostService/GetHost'
    const { json } = await ask(`eitri.fleet.v1.${method}`, '{"host":"rack"}')
    const broken = (change: (host: any) => void) => {
      const copy = structuredClone(json)
      change(copy.host)
      return problemsOf(method, copy)
    }
    expect(problemsOf(method, json)).toBeNull()
    expect(broken((host) => Object.assign(host, { capacity: null }))).toContain('capacity')
    expect(broken((host) => Object.assign(host, { epoch: 7 }))).toContain('epoch must be string')
    expect(broken((host) => delete host.name)).toContain("required property 'name'")
    expect(broken((host) => Object.assign(host, { surprise: 1 }))).toContain('additional properties')
  })

  it('what is unknown is left out, and the document does not demand it', async () => {
    const { trusted_cas, power } = apiDocument.components.schemas['Vm']?.properties ?? {}
    expect(trusted_cas && power).toBeTruthy()
    expect(apiDocument.components.schemas['Vm']?.required).not.toContain('trusted_cas')
    expect(apiDocument.components.schemas['Vm']?.required).not.toContain('power')
    expect(apiDocument.components.schemas['RevokedCertificate']?.properties?.['serial']).toMatchObject({
      type: 'string',
    })
  })

  it('says of the streams that they are streams', () => {
    expect(apiDocument.paths['/eitri.fleet.v1.FleetService/WatchFleet']?.post['x-server-stream']).toBe(true)
    expect(apiDocument.paths['/eitri.fleet.v1.VmService/GetVm']?.post['x-server-stream']).toBeUndefined()
  })
})

describe('the manual of the fleet API', () => {
  it('each of its curl lines runs, and answers what the text around it says', async () => {
    const digest = 'e'.repeat(64)
    await rig.client.images.addImage({ name: 'tiny', url: 'https://images.example.test/tiny.tar', sha256: digest })
    const script = blocks.map((block) => `${block}echo ----`).join('\n')
    const { code, stdout, stderr } = await runProgram('sh', ['-e', '-c', script], {
      env: { ...process.env, SOCKET: rig.apiSocket },
    })
    expect([code, stderr]).toEqual([0, ''])
    const [, read, change, fails, who] = stdout.split('----\n').map((part) =>
      part
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line) as any),
    )
    expect(read?.map((answer) => Object.keys(answer)[0])).toEqual(['hosts', 'vms', 'version'])
    expect(change?.map((answer) => answer.code)).toEqual([undefined, undefined, undefined, undefined, undefined])
    expect([change?.[0].created, change?.[1].vm.labels.role, change?.[4].vm.lifecycle !== 'deleting']).toEqual([
      true,
      'front',
      true,
    ])
    expect(fails?.[0]).toMatchObject({ code: 'not_found', message: expect.stringContaining('no-such-vm') })
    expect(who?.[0].entries.length).toBeGreaterThan(2)
  })

  it('a second create with if_absent answers the first one', async () => {
    const body = '{"name":"web","image_url":"https://images.example.test/a.qcow2","image_sha256":"'
    const first = await ask('eitri.fleet.v1.VmService/CreateVm', `${body}${'d'.repeat(64)}","if_absent":true}`)
    const second = await ask('eitri.fleet.v1.VmService/CreateVm', `${body}${'d'.repeat(64)}","if_absent":true}`)
    expect([first.json.created, second.json.created, second.json.vm.id]).toEqual([true, false, first.json.vm.id])
  })
})
