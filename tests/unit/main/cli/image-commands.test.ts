import { create } from '@bufbuild/protobuf'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { CollectImagesResponseSchema } from '../../../../src/ipc/gen/eitri/fleet/v1/image_pb.js'
import { runCli } from '../../../../src/main/cli/cli.ts'
import { FakeFleetServer } from '../../../support/fake-fleet-server.ts'
import { FakeTerminal } from '../../../support/fake-terminal.ts'

const [A, B, C, D] = ['a', 'b', 'c', 'd'].map((digit) => digit.repeat(64)) as [string, string, string, string]
const HOUR = 3600n
let fleet: FakeFleetServer

beforeEach(async () => {
  fleet = await FakeFleetServer.start()
  fleet.collection = create(CollectImagesResponseSchema, {
    hosts: [
      {
        hostName: 'rack1',
        removed: [
          { sha256: A, names: ['debian'], sizeBytes: 3n << 30n, whole: true, reason: 'age', unusedS: 360n * HOUR },
          { sha256: B, sizeBytes: 512n, whole: false, reason: 'pressure', unusedS: 2n * HOUR },
        ],
        kept: [
          { sha256: C, names: ['tiny'], sizeBytes: 9n << 20n, whole: true, reason: 'in_use', vms: ['db', 'web'] },
          { sha256: D, sizeBytes: 1024n, whole: true, reason: 'recent', unusedS: 90n },
        ],
        freeBytes: 5n << 30n,
      },
    ],
  })
})
afterEach(() => fleet.stop())

async function eitri(...argv: string[]) {
  const io = new FakeTerminal()
  const parts = {
    io,
    now: () => 0,
    apiSocket: () => fleet.socketPath,
    embed: async () => ({ async stop() {} }),
    async serve() {},
  }
  const code = await runCli(argv, parts)
  return { code, out: io.out, err: io.err }
}

describe('an image command that is wrong', () => {
  it.each([
    ['add', 'x', '--url', 'ftp://x', '--sha256', A],
    ['add', 'x'],
    ['add', 'x', '--url', 'https://x/y', '--sha256', A, '--format', 'vmdk'],
    ['add', 'x', '--url', 'https://x/y', '--sha256', A, '--kind', 'kernel', '--format', 'raw'],
    ['gc', '--host', '-rf'],
  ])('exits with 2, and nothing is asked: image %s %s', async (...argv) => {
    const { code, out } = await eitri('image', ...argv)
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect([fleet.addedImages, fleet.collections]).toEqual([[], []])
  })
})

describe('the catalogue', () => {
  it('takes an image with its digest and the format it has to have, and those that can be built here', async () => {
    const way = ['--url', 'https://example.org/disk.qcow2', '--sha256', A, '--default', '--format', 'qcow2']
    expect((await eitri('image', 'add', 'debian', ...way)).code).toBe(0)
    const added = { name: 'debian', arch: 'x86_64', kind: 'disk', format: 'qcow2', makeDefault: true }
    expect(fleet.addedImages[0]).toMatchObject(added)
    const built = JSON.parse((await eitri('image', 'build-tiny', '--json')).out)
    expect(built).toMatchObject({ name: 'tiny', is_default: true })
    expect(JSON.parse((await eitri('image', 'build-debian', '--json')).out)).toMatchObject({ name: 'debian-12' })
    expect(JSON.parse((await eitri('image', 'list', '--json')).out).images).toHaveLength(2)
  })
})

describe('image gc', () => {
  it('says what went with its bytes, and why the rest stays', async () => {
    const { code, out, err } = await eitri('image', 'gc')
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(fleet.collections).toMatchObject([{ host: '', dryRun: false, all: false }])
    expect(out.split('\n')).toEqual([
      'HOST   IMAGE                      SIZE     WHAT     WHY',
      'rack1  debian                     3.0 GiB  removed  unused for 15 d',
      'rack1  bbbbbbbbbbbb (unfinished)  512 B    removed  the disk is low; unused for 2 h',
      'rack1  tiny                       9.0 MiB  stays    used by db, web',
      'rack1  dddddddddddd               1.0 KiB  stays    unused for 1 min only; --all takes it',
      'rack1: 3.0 GiB freed, 5.0 GiB free.',
      '',
    ])
  })

  it('promises nothing and removes nothing in a dry run, of one host when named', async () => {
    const { out } = await eitri('image', 'gc', '--dry-run', '--host', 'rack1', '--all')
    expect(fleet.collections).toMatchObject([{ host: 'rack1', dryRun: true, all: true }])
    expect(out).toContain('would go')
    expect(out).toContain('rack1: 3.0 GiB would be freed')
    expect(out).not.toContain('removed')
  })

  it('gives scripts the whole answer', async () => {
    const { out } = await eitri('image', 'gc', '--dry-run', '--json')
    expect(JSON.parse(out).hosts[0]).toMatchObject({
      host_name: 'rack1',
      removed: [{ sha256: A, size_bytes: String(3n << 30n), reason: 'age' }, { whole: false }],
      kept: [{ vms: ['db', 'web'] }, { reason: 'recent', unused_s: '90' }],
    })
  })

  it('names the host that does not answer, and fails when it was the only one', async () => {
    const fault = { code: 'host/no-answer', disposition: 'transient', params: { host: 'rack2' }, id: 'x' }
    const silent = { hostName: 'rack2', fault }
    const [first] = fleet.collection.hosts
    fleet.collection = create(CollectImagesResponseSchema, { hosts: [first!, silent] })
    const both = await eitri('image', 'gc')
    expect(both.code).toBe(0)
    expect(both.out).toContain('rack2: rack2 stopped answering.')
    fleet.collection = create(CollectImagesResponseSchema, { hosts: [silent] })
    const alone = await eitri('image', 'gc', '--host', 'rack2')
    expect(alone).toMatchObject({ code: 1, err: expect.stringContaining('rack2 stopped answering.') })
  })

  it('says why nothing goes while it is not known what is in use', async () => {
    const unknown = 'the record of VM 1 cannot be read'
    fleet.collection = create(CollectImagesResponseSchema, { hosts: [{ hostName: 'rack1', unknown }] })
    expect((await eitri('image', 'gc')).out).toBe(
      'rack1: 0 B freed, 0 B free. Nothing goes while the record of VM 1 cannot be read.\n',
    )
  })
})
