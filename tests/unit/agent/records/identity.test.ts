import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Identity, requireUsable } from '../../../../src/agent/records/identity.ts'

describe('an identity of another version', () => {
  let dir: string
  let path: string
  const written = async () => JSON.parse(await readFile(path, 'utf8'))
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'eitri-identity-'))
    path = join(dir, 'identity.json')
    await Identity.load(path)
  })
  afterEach(() => rm(dir, { recursive: true }))

  it.each([
    ['whole', (file: object) => ({ ...file, version: 2 })],
    ['with nothing in it this agent knows', () => ({ version: 7, keys: [] })],
  ])('that is newer and %s is named as newer, and left untouched', async (_, change) => {
    const text = JSON.stringify(change(await written()))
    await writeFile(path, text)
    const newer = { code: 'agent/identity-newer', params: { file: path, known: '1' } }
    await expect(Identity.load(path)).rejects.toMatchObject(newer)
    await expect(requireUsable(path)).rejects.toMatchObject(newer)
    expect(await readFile(path, 'utf8')).toBe(text)
  })

  it('that is older, from before versions, is read and keeps who it is', async () => {
    const { version, ...older } = await written()
    expect(version).toBe(1)
    await writeFile(path, JSON.stringify(older))
    const identity = await Identity.load(path)
    expect(identity.hostId).toBe(older.host_id)
    await identity.adopt('f'.repeat(32), 'laptop')
    expect(await written()).toMatchObject({ host_id: older.host_id, fleet_id: 'f'.repeat(32) })
  })

  it('keeps the fields this agent does not know when it saves', async () => {
    await writeFile(path, JSON.stringify({ ...(await written()), label: 'rack 7' }))
    await (await Identity.load(path)).adopt('f'.repeat(32), 'laptop')
    expect(await written()).toMatchObject({ label: 'rack 7', fleet_id: 'f'.repeat(32) })
  })

  it.each([['2'], [null], [true]])('whose version is no number (%j) is damaged', async (version) => {
    await writeFile(path, JSON.stringify({ ...(await written()), version }))
    await expect(Identity.load(path)).rejects.toMatchObject({ code: 'agent/identity-damaged' })
  })
})
