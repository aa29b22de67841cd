import { readdirSync, rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { toBinary } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import { decodeRecord, encodeRecord, newRecord } from '../../../../src/agent/records/vm-record.ts'
import { ensureHostKey } from '../../../../src/agent/seed/host-key.ts'
import { seedDocuments } from '../../../../src/agent/seed/seed-documents.ts'
import { VmSpecSchema } from '../../../../src/ipc/gen/eitri/agent/v1/vm_pb.js'
import { isName } from '../../../../src/ipc/names.ts'
import { HOSTILE_NAMES } from '../../../support/hostile-values.ts'
import { aVm, ID, Rig } from './rig.ts'

/** As the wire would bring it: a lone surrogate cannot. */
const NAMES = HOSTILE_NAMES.map((name) => name.toWellFormed())
const FIELDS = ['name', 'tenant', 'network', 'backend', 'imageUrl', 'imageKind', 'powerState', 'sshHostCert'] as const

describe('a name that would be more than a name', () => {
  it.each(FIELDS)('as %s is refused by name or stays data, and nothing else of the host moves', async (field) => {
    for (const name of NAMES) {
      await using rig = await Rig.open()
      const good = aVm({ vmId: 'b'.repeat(32), name: 'good' })
      await rig.want(
        aVm({
          [field]: name,
          hostCertRequired: field === 'name',
          sshHostCert: field === 'name' ? 'cert' : '',
          ...(field === 'sshHostCert' ? { sshHostCert: name } : {}),
        }),
        good,
      )
      expect(rig.row(good.vmId), 'the VM beside it').toMatchObject({ power: 'running', phase: 'ready' })
      const row = rig.row()
      const refused = row?.phase === 'failed'
      if (refused) expect(row?.reason, name).toMatch(/^(input\/invalid|vm\/network-unknown|vmm\/missing|image\/\w+)/)
      const told = [row?.detail ?? '', row?.hostPublicKey ?? ''].join('')
      expect(told.length, 'a row is short, however long the name').toBeLessThan(600)
      expect(rig.backend.calls.filter((call) => name.length > 3 && call.includes(name))).toEqual([])
      for (const { path, input } of rig.seeds) {
        expect(isName(input.hostname)).toBe(true)
        expect(path).not.toMatch(/pwned|\.\.|passwd/)
      }
    }
  })

  it('comes back from its record as it went in, in one file', () => {
    for (const name of NAMES) {
      const spec = aVm({ name, tenant: name, network: name, backend: name, imageUrl: name })
      const { spec: read } = decodeRecord(encodeRecord(newRecord(spec)))
      expect(toBinary(VmSpecSchema, read)).toEqual(toBinary(VmSpecSchema, spec))
    }
  })

  it('makes no second line of a host key', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'eitri-names-'))
    try {
      for (const [i, name] of NAMES.entries()) {
        const { publicKey } = await ensureHostKey(join(dir, `key-${i}`), name)
        expect(publicKey.trimEnd()).toMatch(/^ssh-ed25519 [A-Za-z0-9+/=]+( [^\0-\x1f]*)?$/)
      }
      expect(readdirSync(dir)).toHaveLength(NAMES.length)
    } finally {
      rmSync(dir, { recursive: true })
    }
  })

  it('in user-data or a key stays inside its own document', () => {
    const seed = {
      vmId: ID,
      hostname: 'web',
      authorizedKeys: [],
      mac: '52:54:00:00:00:01',
      ssh: { userCas: [] },
      clock: 'auto' as const,
    }
    const plain = seedDocuments({ ...seed, userData: new Uint8Array() })
    for (const name of NAMES) {
      const userData = Buffer.from(name)
      const with_ = seedDocuments({ ...seed, userData })
      expect(with_).toEqual({ ...plain, 'user-data': userData })
      const lines = () => seedDocuments({ ...seed, userData, authorizedKeys: [name] })
      if (/[\0-\x1f\x7f]/.test(name) || name === '') expect(lines).toThrow(/input\/invalid/)
      else expect(Buffer.from(lines()['meta-data']!).toString()).toContain(`\n  - ${JSON.stringify(name)}\n`)
    }
  })
})
