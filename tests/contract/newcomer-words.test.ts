import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ScriptedHost } from '../support/scripted-host.ts'

let rig: ScriptedHost
let dir: string

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'eitri-words-'))
  rig = await ScriptedHost.open()
})
afterAll(async () => {
  await rig?.[Symbol.asyncDispose]()
  rmSync(dir, { recursive: true, force: true })
})

describe('a file a person names', () => {
  it.each([
    ['vm', 'create', 'w', '--cloud-init'],
    ['vm', 'create', 'w', '--ssh-key'],
    ['cert', 'issue', '--key'],
  ])('that is not there is said so: %s %s', async (...words) => {
    const { code, err } = await rig.eitri(...words, join(dir, 'none'))
    expect([code, err]).toEqual([2, expect.stringContaining('there is no such file')])
    expect(err).not.toContain('ENOENT')
  })

  it.each([['audit', '--export'], ['backup']])(
    'cannot be made where no directory is, which is named: %s',
    async (...words) => {
      const { code, err } = await rig.eitri(...words, join(dir, 'no-folder', 'file'))
      expect([code, err]).toEqual([2, expect.stringContaining(`there is no directory ${join(dir, 'no-folder')}.`)])
      expect(err).not.toContain('ENOENT')
    },
  )

  it('is never written over', async () => {
    const file = join(dir, 'there')
    writeFileSync(file, 'mine')
    for (const words of [['audit', '--export'], ['backup']])
      expect((await rig.eitri(...words, file)).err).toContain('there is a file of that name')
  })
})

describe('the help', () => {
  it.each([
    [['store'], /Without a command: where it is, .*copies/],
    [['vm', 'import'], /qcow2, raw, VMDK/],
    [['ca', 'create'], /host \(.*\) or user \(.*\); needed/],
    [['ssh'], /its options too/],
  ])('of %j says what a newcomer looks for', async (words, says) => {
    const { code, out } = await rig.eitri(...words, '--help')
    expect([code, out.replace(/\s+/g, ' ')]).toEqual([0, expect.stringMatching(says)])
  })
})

describe('adding a host', () => {
  it('at an address that does not answer says that it was not added, and nothing of VMs', async () => {
    const { code, err } = await rig.eitri('host', 'add', 'far', '--ssh', 'root@127.0.0.1:1')
    expect([code, err]).toEqual([1, expect.stringMatching(/No answer from .* Nothing was changed\. .*add it again/)])
    expect(err).not.toMatch(/VMs|tried again by itself/)
  })
})
