import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../../../src/ipc/base/clock.ts'
import { silentLog } from '../../../../src/ipc/base/log.ts'
import { controlPaths } from '../../../../src/main/control/node-ports.ts'
import type { Ports } from '../../../../src/main/control/ports.ts'
import { CaKeyFiles } from '../../../../src/main/control/trust/ca-keys.ts'
import { askingFor, withCaPassphrase } from '../../../../src/main/serving/ca-passphrase.ts'
import { FakeTerminal } from '../../../support/fake-terminal.ts'

const ID = 'a'.repeat(32)
let dir: string
let ports: Ports
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'eitri-phrase-'))
  ports = {
    ...{ clock: systemClock, log: silentLog, env: { HOME: dir }, version: '', platform: 'linux', arch: 'x64' },
    paths: controlPaths({ dataDir: join(dir, 'd'), env: { HOME: dir } }),
    controllerName: 'test',
  }
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const sealedBy = (passphrase?: string) =>
  new CaKeyFiles({ dir: ports.paths.caKeys, passphrase: async () => passphrase }).keep(
    ID,
    generateKeyPairSync('ed25519').privateKey,
  )

/** What a start makes of the answers a person types, one to each question; undefined = nobody sits there. */
async function start(answers: string[] | undefined, options: { caPassphrase?: boolean } = {}, from = ports) {
  const io = new FakeTerminal({ tty: answers !== undefined })
  const left = [...(answers ?? [])]
  const asked: string[] = []
  io.stderr.on('data', (chunk) => {
    if (!String(chunk).endsWith(': ')) return
    asked.push(String(chunk).trim())
    setImmediate(() => io.type(`${left.shift() ?? ''}\r`))
  })
  const ask = askingFor({ open: false, readyJson: false, ...options }, io, new AbortController().signal)
  const { caPassphrase } = await withCaPassphrase(from, ask)
  return { passphrase: caPassphrase, asked, shown: io.out + io.err }
}

const EXISTING = 'Passphrase of the CA keys (empty = go on without them):'
const AGAIN = 'That does not open them. Passphrase (empty = go on without them):'

describe('the passphrase of CA keys at the start of the control plane', () => {
  it('is asked of nobody while no key is sealed by one', async () => {
    expect(await start([])).toMatchObject({ passphrase: undefined, asked: [] })
    await sealedBy()
    expect(await start([])).toMatchObject({ passphrase: undefined, asked: [] })
  })

  it('is asked of a person at a terminal, not shown, and asked again while it does not open', async () => {
    await sealedBy('correct horse')
    const told = await start(['battery staple', 'correct horse'])
    expect(told).toMatchObject({ passphrase: 'correct horse', asked: [EXISTING, AGAIN] })
    expect(told.shown).not.toMatch(/battery|horse/)
  })

  it('may be left out: the start goes on without the keys', async () => {
    await sealedBy('correct horse')
    expect(await start([''])).toMatchObject({ passphrase: undefined, asked: [EXISTING] })
    expect(await start(['a', 'b', 'c', 'd'])).toMatchObject({ passphrase: undefined, asked: [EXISTING, AGAIN, AGAIN] })
  })

  it('is asked of nobody where nobody sits, nor when the environment names it', async () => {
    await sealedBy('correct horse')
    expect(await start(undefined)).toMatchObject({ passphrase: undefined })
    writeFileSync(join(dir, 'phrase'), 'correct horse\n')
    const env = { HOME: dir, EITRI_CA_PASSPHRASE_FILE: join(dir, 'phrase') }
    expect(await start([], {}, { ...ports, env })).toMatchObject({ asked: [] })
  })

  it('is set by who asks for that, typed twice alike', async () => {
    expect(await start(['new one', 'new one'], { caPassphrase: true })).toMatchObject({ passphrase: 'new one' })
    await expect(start(['new one', 'other'], { caPassphrase: true })).rejects.toMatchObject({ code: 'input/invalid' })
    await expect(start(undefined, { caPassphrase: true })).rejects.toMatchObject({
      params: { problem: expect.stringContaining('EITRI_CA_PASSPHRASE_FILE') },
    })
  })
})
