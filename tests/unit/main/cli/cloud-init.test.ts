import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { runCli } from '../../../../src/main/cli/cli.ts'
import { FakeFleetServer } from '../../../support/fake-fleet-server.ts'
import { FakeTerminal } from '../../../support/fake-terminal.ts'

let fleet: FakeFleetServer
let dir: string
beforeEach(async () => {
  fleet = await FakeFleetServer.start()
  dir = mkdtempSync(join(tmpdir(), 'eitri-cli-user-data-'))
})
afterEach(async () => {
  await fleet.stop()
  rmSync(dir, { recursive: true, force: true })
})

const BAD = '#cloud-config\nhostname: no\nruncmd: apt-get update\n'
const ODD = '#cloud-config\nhostname: no\n'
const GOOD = '#cloud-config\nhostname: web\n'

function file(text: string): string {
  const path = join(dir, 'user-data')
  writeFileSync(path, text)
  return path
}

async function eitri(argv: string[], stdin = '', socket = fleet.socketPath) {
  const io = new FakeTerminal()
  io.stdin.end(stdin)
  const code = await runCli(argv, {
    io,
    now: () => 0,
    apiSocket: () => socket,
    embed: async () => ({ async stop() {} }),
    async serve() {},
  })
  return { code, out: io.out, err: io.err }
}

describe('eitri cloud-init check', () => {
  it('says one line a finding, without a control plane, and ends with 2 where one is an error', async () => {
    const path = file(BAD)
    const { code, out, err } = await eitri(['cloud-init', 'check', path], '', '/nowhere')
    expect(out.split('\n').map((line) => line.split(': ', 2))).toEqual([
      [`${path}:2`, 'warning'],
      [`${path}:3`, 'error'],
      [''],
    ])
    expect(err).toMatch(/has an error that cloud-init would stumble over, the first in line 3\. Nothing was changed\./)
    expect(code).toBe(2)
  })

  it('ends with 0 where there are warnings alone, or nothing to say', async () => {
    expect((await eitri(['cloud-init', 'check', file(ODD)])).code).toBe(0)
    const path = file(GOOD)
    expect(await eitri(['cloud-init', 'check', path])).toEqual({ code: 0, out: `${path}: nothing to say.\n`, err: '' })
  })

  it('reads standard input and answers one JSON document', async () => {
    const { code, out } = await eitri(['cloud-init', 'check', '-', '--json'], ODD)
    expect(JSON.parse(out)).toMatchObject({
      findings: [{ line: 2, column: 11, severity: 'warning', rule: 'not-text', edits: [{ start: 24, text: "'" }, {}] }],
    })
    expect(code).toBe(0)
  })

  it('says too much of it in its own words, from a file and from standard input', async () => {
    const much = `#cloud-config\n${'# x\n'.repeat(20_000)}`
    for (const run of [eitri(['cloud-init', 'check', '-'], much), eitri(['cloud-init', 'check', file(much)])])
      expect(await run).toMatchObject({ code: 2, out: expect.stringContaining('larger than 64 KiB') })
  })

  it('names a file that is not there', async () => {
    const { code, err } = await eitri(['cloud-init', 'check', join(dir, 'none')])
    expect([code, err]).toEqual([2, expect.stringContaining('there is no such file')])
  })
})

describe('eitri vm create --cloud-init', () => {
  it('prints what it found and stops at an error before anything is asked for', async () => {
    const path = file(BAD)
    const { code, err } = await eitri(['vm', 'create', 'web', '--cloud-init', path])
    expect(err).toContain(`${path}:3: error: `)
    expect(code).toBe(2)
    expect(fleet.vms.size).toBe(0)
  })

  it('prints warnings and goes on', async () => {
    const path = file(ODD)
    const { code, err } = await eitri(['vm', 'create', 'web', '--cloud-init', path])
    expect([code, err]).toEqual([0, expect.stringContaining(`${path}:2: warning: `)])
  })
})
