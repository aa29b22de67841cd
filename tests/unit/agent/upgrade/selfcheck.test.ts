import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Identity } from '../../../../src/agent/records/identity.ts'
import { agentLayout } from '../../../../src/agent/records/layout.ts'
import { selfCheck, selfCheckText } from '../../../../src/agent/upgrade/selfcheck.ts'

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'eitri-selfcheck-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const check = (change: Partial<Parameters<typeof selfCheck>[0]> = {}) =>
  selfCheck({
    layout: agentLayout(join(dir, 'state')),
    socketPath: join(dir, 'run/agent.sock'),
    program: { kind: 'source', file: '/x', node: '/n' },
    version: '2.0.0',
    digest: '',
    ...change,
  })
const states = (found: Awaited<ReturnType<typeof selfCheck>>) =>
  Object.fromEntries(found.checks.map(({ name, state }) => [name, state]))

describe('an agent that looks at itself', () => {
  it('can run where there is nothing yet, and where all of an older one can be read', async () => {
    expect(await check()).toMatchObject({ ok: true, version: '2.0.0', unreadable: 0 })
    mkdirSync(join(dir, 'state'))
    await Identity.load(join(dir, 'state/identity.json'))
    const found = await check()
    expect(new Set(Object.values(states(found)))).toEqual(new Set(['ok']))
    expect(selfCheckText(found)).toMatch(/Agent 2\.0\.0 can run here\.$/)
  })

  it('cannot with an older Node.js, a damaged identity, or a state directory that is none', async () => {
    expect(states(await check({ node: '22.1.0' }))).toMatchObject({ node: 'failed' })
    mkdirSync(join(dir, 'state'))
    writeFileSync(join(dir, 'state/identity.json'), '{')
    expect(states(await check())).toMatchObject({ identity: 'failed' })
    rmSync(join(dir, 'state'), { recursive: true })
    writeFileSync(join(dir, 'state'), 'a file')
    const found = await check()
    expect(found.ok).toBe(false)
    expect(states(found)).toMatchObject({ 'state directory': 'failed' })
    expect(selfCheckText(found)).toMatch(/x state directory: .*not a directory/)
  })

  it('counts what it cannot read, which alone keeps no agent from running', async () => {
    const vm = join(dir, 'state/vms', 'a'.repeat(32))
    mkdirSync(vm, { recursive: true })
    writeFileSync(join(vm, 'record.json'), 'of the future')
    writeFileSync(join(dir, 'state/desired.bin'), 'eitri-desired 9 x\n')
    const found = await check()
    expect(found).toMatchObject({ ok: true, unreadable: 2 })
    expect(states(found)).toMatchObject({ records: 'warning' })
  })

  it('knows a bundle that was changed after it was built', async () => {
    const zero = '0'.repeat(64)
    const text = `the program, digest ${zero}`
    const digest = createHash('sha256').update(text).digest('hex')
    const file = join(dir, 'agent.cjs')
    const program = { kind: 'bundle', file, node: '/n' } as const
    writeFileSync(file, text.replace(zero, digest))
    expect(states(await check({ program, digest }))).toMatchObject({ program: 'ok' })
    writeFileSync(file, `${text.replace(zero, digest)} and more`)
    expect(states(await check({ program, digest }))).toMatchObject({ program: 'failed' })
  })
})
