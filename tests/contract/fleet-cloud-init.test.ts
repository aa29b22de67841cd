import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { seedDocuments } from '../../src/agent/seed/seed-documents.ts'
import { systemClock } from '../../src/ipc/base/clock.ts'
import { silentLog } from '../../src/ipc/base/log.ts'
import { faultLine } from '../../src/ipc/fault-text.ts'
import { fromConnectError } from '../../src/ipc/fault-wire.ts'
import type { Fault } from '../../src/ipc/faults.ts'
import { type ControlPlane, createControlPlane } from '../../src/main/control/control-plane.ts'
import { controlPaths } from '../../src/main/control/node-ports.ts'
import { openStores } from '../../src/main/control/store/stores.ts'
import { type FleetClient, fleetClient } from '../../src/main/fleet-client.ts'
import { FakeSyncAgent } from '../support/fake-sync-agent.ts'

let dir: string
let agent: FakeSyncAgent
let control: ControlPlane
let client: FleetClient

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'eitri-user-data-'))
  agent = await FakeSyncAgent.start()
  const paths = { ...controlPaths({ dataDir: join(dir, 'data'), env: { HOME: dir } }), renderer: undefined }
  const stores = openStores(paths.database, systemClock)
  stores.hosts.create({
    tenant: 'default',
    id: 'a'.repeat(32),
    name: 'rack',
    kind: 'local',
    ssh: null,
    agent: {
      socketPath: agent.socketPath,
      executable: '',
      stateDir: agent.dir,
      identityPublicKey: agent.identityPublicKey,
      runsAs: 'root',
      startedBy: 'systemd',
    },
    hostKeyFingerprint: '',
    facts: null,
  })
  stores.db.close()
  control = createControlPlane({
    clock: systemClock,
    log: silentLog,
    paths,
    env: { HOME: dir },
    version: '0.1.0-test',
    platform: 'linux',
    arch: 'x64',
    controllerName: 'test',
  })
  await control.start()
  client = fleetClient(paths.apiSocket)
})

afterEach(async () => {
  await control.stop()
  await agent.stop()
  rmSync(dir, { recursive: true, force: true })
})

const bytes = (text: string) => new TextEncoder().encode(text)
const create = (cloudInit: Uint8Array<ArrayBuffer>, more: object = {}) =>
  client.vms.createVm({
    name: 'web',
    imageUrl: 'https://images.example.test/a.qcow2',
    imageSha256: 'd'.repeat(64),
    cloudInit,
    ...more,
  })
const faultOf = (call: Promise<unknown>): Promise<Fault> =>
  call.then(
    () => Promise.reject(new Error('nothing was raised')),
    (error: unknown) => fromConnectError(error),
  )

describe('user-data over the fleet API', () => {
  it('is looked over on request, with lines, words and edits that count bytes', async () => {
    const userData = bytes('#cloud-config\n# zoë\nhostname: no\nrun_cmd: []\n')
    const { findings } = await client.cloudInit.checkCloudInit({ userData })
    expect(findings.map(({ line, column, severity, rule }) => [line, column, severity, rule])).toEqual([
      [3, 11, 'warning', 'not-text'],
      [4, 1, 'warning', 'unknown-key'],
    ])
    const [first, second] = findings
    expect(first?.edits.map(({ start, end, text }) => [start, end, text])).toEqual([
      [31, 31, "'"],
      [33, 33, "'"],
    ])
    const [edit] = second?.edits ?? []
    expect(new TextDecoder().decode(userData.subarray(edit?.start, edit?.end))).toBe('run_cmd')
  })

  it('that a guest would pass over is refused with line, reason and what to do, and nothing is made', async () => {
    const fault = await faultOf(create(bytes('#cloud-config\nruncmd:\n  - echo status: ok\n')))
    expect(fault).toMatchObject({ code: 'cloud-init/invalid', disposition: 'permanent', params: { line: '3' } })
    expect(faultLine(fault.code, fault.params)).toMatch(
      /^The user-data is not valid in line 3: .*\. Nothing .*quotes\.$/,
    )
    expect((await client.vms.listVms({})).vms).toEqual([])
  })

  it('with warnings alone is accepted', async () => {
    expect((await create(bytes('#cloud-config\nhostname: no\npackage: [nginx]\n'))).created).toBe(true)
  })

  it('is not looked at again for a VM that is there', async () => {
    await create(bytes('#cloud-config\nhostname: web\n'))
    const again = await create(bytes('no header\n'), { ifAbsent: true })
    expect(again.created).toBe(false)
  })

  it.each([
    ['Windows line ends', '#cloud-config\r\nhostname: web\r\n'],
    ['no line break at its end', '#!/bin/sh\necho hello'],
    ['letters beyond ASCII', '#cloud-config\nfinal_message: "grüße, 世界 🙂"\n'],
    ['blanks at the ends of lines and two at its end', '#cloud-config  \nhostname: web   \n\n\n'],
    ['a blank first line', '\n#cloud-config\nhostname: web\n'],
  ])('with %s reaches the host and the seed byte for byte', async (_, text) => {
    const { vm } = await create(bytes(text))
    const sent = () => agent.snapshots.at(-1)?.state?.vms.find(({ vmId }) => vmId === vm?.id)
    await expect.poll(sent, { timeout: 10_000 }).toBeDefined()
    const userData = sent()?.cloudInit ?? new Uint8Array()
    expect(Buffer.from(userData)).toEqual(Buffer.from(text))
    const seed = seedDocuments({
      vmId: vm?.id ?? '',
      hostname: 'web',
      authorizedKeys: [],
      userData,
      mac: '52:54:00:12:34:56',
      ssh: { userCas: [] },
      clock: 'auto',
    })
    expect(Buffer.from(seed['user-data'] ?? [])).toEqual(Buffer.from(text))
  })
})
