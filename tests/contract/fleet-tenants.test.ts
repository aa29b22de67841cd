import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { DescField, DescMessage, DescMethodUnary, DescService } from '@bufbuild/protobuf'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { WebSocket } from 'ws'
import { decodeConsoleFrame, encodeConsoleFrame } from '../../src/ipc/console-frames.ts'
import { ITS_NAMES, OTHER, sowOtherTenant } from '../support/another-tenant.ts'
import { rawCall } from '../support/raw-api.ts'
import { ScriptedHost } from '../support/scripted-host.ts'

const GEN = join(import.meta.dirname, '../../src/ipc/gen/eitri/fleet/v1')
const TOKENS: string[] = Object.values(ITS_NAMES).flat()

/** Text that names no thing of a tenant: new things, words, images, which are everybody's, and tenants, which are one person's. */
const NAMES_NOTHING = new Set([
  ...[
    'name',
    'new_name',
    'description',
    'kind',
    'arch',
    'format',
    'url',
    'sha256',
    'path',
    'image',
    'image_url',
    'image_sha256',
    'entry',
  ],
  ...[
    'network',
    'backend',
    'power',
    'clock_policy',
    'protocol',
    'scope',
    'fingerprint',
    'finding_id',
    'question_id',
    'login',
  ],
  ...[
    'password',
    'passphrase',
    'sudo_password',
    'secret',
    'keep',
    'accept_fingerprint',
    'private_key',
    'public_key',
    'certificate',
  ],
  // Names of files of a support bundle.
  'without',
  ...['reason', 'action', 'result', 'request_id', 'before_id', 'ssh_authorized_keys', 'remove_labels', 'lift', 'ssh'],
  // The key under which a create may be repeated, chosen by its caller: 128 random bits.
  'vm_id',
  // A look at a bundle, named by as many: that another tenant's is not written is told with bundles.
  ...['preview_id', 'instead_of'],
  // A tenant's own list of what it takes for revoked, also before this store has seen such a certificate.
  'serial',
])

/** What a request needs besides to come as far as looking for what it names. */
const BESIDES: Record<string, object> = {
  PublishPort: { guestPort: 80 },
  MendNetwork: { findingId: 'x' },
  AcceptHostKey: { fingerprint: `SHA256:${'c'.repeat(43)}` },
  AnswerTask: { questionId: 'q', agree: true },
  CreateVm: { name: 'new', imageUrl: 'https://images.example.test/a.qcow2', imageSha256: 'd'.repeat(64) },
  CreateTemplate: { name: 'new' },
  CloneVm: { name: 'new' },
  IssueCertificate: { publicKey: `ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI${'C'.repeat(43)}` },
}

interface Method {
  path: string
  name: string
  references: string[]
  desc: DescMethodUnary
}

const services: DescService[] = []
for (const file of readdirSync(GEN).filter((name) => name.endsWith('_pb.js')))
  for (const value of Object.values((await import(join(GEN, file))) as object))
    if (value?.kind === 'service') services.push(value)

const methods: Method[] = services.flatMap((service) =>
  service.methods
    .filter((desc) => desc.methodKind === 'unary')
    .map((desc) => ({
      path: `${service.typeName}/${desc.name}`,
      name: desc.name,
      references: referencesOf(desc.input),
      desc: desc as DescMethodUnary,
    })),
)

function isText(field: DescField): boolean {
  return (field.fieldKind === 'scalar' || field.fieldKind === 'list') && field.scalar === 9
}

function referencesOf(message: DescMessage): string[] {
  return message.fields
    .filter(isText)
    .filter((field) => !NAMES_NOTHING.has(field.name))
    .map((field) => field.jsonName)
}

let without: ScriptedHost
let withOther: ScriptedHost

beforeAll(async () => {
  vi.spyOn(globalThis.crypto, 'randomUUID').mockReturnValue('00000000-0000-4000-8000-000000000000')
  without = await ScriptedHost.open()
  withOther = await ScriptedHost.open(sowOtherTenant)
})
afterAll(async () => {
  await without[Symbol.asyncDispose]()
  await withOther[Symbol.asyncDispose]()
  vi.restoreAllMocks()
})

async function ask(rig: ScriptedHost, { path, name }: Method, given: object, tenant = 'default') {
  const body = JSON.stringify({ ...BESIDES[name], ...given })
  const {
    status,
    headers,
    body: bytes,
  } = await rawCall(rig.apiSocket, path, body, { 'eitri-tenant': tenant, 'x-request-id': 'r' })
  const { date: _, ...others } = headers
  return { status, headers: others, bytes: bytes.toString('latin1') }
}
/** Not so for a service or a method that is in the contracts alone. */
const isThere = (answer: { status: number; headers: { [name: string]: unknown } }) =>
  answer.status !== 501 && answer.headers['content-type'] === 'application/json'

describe('tenants over the socket', () => {
  it('every text of every request is known to name something of a tenant, or not to', () => {
    const known = new Set(['vm', 'host', 'id', 'taskId', 'ca', 'template'])
    const unknown = methods.flatMap(({ path, references }) =>
      references.filter((field) => !known.has(field)).map((field) => `${path}: ${field}`),
    )
    expect(unknown).toEqual([])
    expect(methods.filter(({ references }) => references.length > 0).length).toBeGreaterThan(30)
  })

  it.each(methods.filter(({ references }) => references.length > 0))(
    "$name: another tenant's thing is answered byte for byte as one that is not there",
    async (method) => {
      const own = { rig: await ScriptedHost.open(sowOtherTenant) }
      try {
        let reached = 0
        for (const field of method.references)
          for (const token of TOKENS) {
            const given = { [field]: token }
            const absent = await ask(without, method, given)
            expect(isThere(absent), 'it is in the contracts, so it is served').toBe(true)
            expect(await ask(withOther, method, given), `${field}: ${token}`).toEqual(absent)
            const owners = await ask(own.rig, method, given, OTHER)
            if (owners.status !== absent.status || owners.bytes !== absent.bytes) reached++
          }
        expect(
          reached,
          'whoever it belongs to is answered otherwise: sow one in another-tenant.ts, or say BESIDES',
        ).toBeGreaterThan(0)
      } finally {
        await own.rig[Symbol.asyncDispose]()
      }
    },
  )

  it.each(methods.filter(({ name }) => /^(List|Get)/.test(name) && name !== 'ListTenants'))(
    "$name: nothing of another tenant's is in it",
    async (method) => {
      const { bytes } = await ask(withOther, method, {})
      for (const token of [...TOKENS, OTHER]) expect(bytes).not.toContain(token)
    },
  )

  it("a console of another tenant's VM is refused in the words for one that is not there", async () => {
    const refusal = (rig: ScriptedHost, vm: string) =>
      new Promise<unknown>((resolve, reject) => {
        const socket = new WebSocket(`ws+unix:${rig.apiSocket}:/console`)
        socket.on('open', () => socket.send(encodeConsoleFrame({ type: 'open', id: 1, vm, tailBytes: 0 })))
        socket.on('message', (data: Buffer) => {
          resolve(decodeConsoleFrame(data))
          socket.terminate()
        })
        socket.on('error', reject)
      })
    for (const vm of ITS_NAMES.vm) {
      const foreign = await refusal(withOther, vm)
      expect(foreign).toEqual(await refusal(without, vm))
      expect(foreign).toMatchObject({ type: 'close', reason: `console unavailable: there is no VM ${vm}` })
    }
  })

  it("a host and its VMs belong to who added it, whatever a request says: another's host takes no VM", async () => {
    const create = methods.find(({ name }) => name === 'CreateVm')!
    const [hostId] = ITS_NAMES.host
    const unknown = await ask(without, create, { host: hostId })
    expect(await ask(withOther, create, { host: hostId })).toEqual(unknown)
    expect(unknown).toMatchObject({ status: 404 })
    expect(JSON.parse((await ask(withOther, create, { host: hostId }, OTHER)).bytes)).toMatchObject({ created: true })
  })
})
