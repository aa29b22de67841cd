import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { BundleFile } from '../../src/ipc/gen/eitri/fleet/v1/support_pb.js'
import { TENANT_HEADER } from '../../src/ipc/request-headers.ts'
import type { Stores } from '../../src/main/control/store/stores.ts'
import { ITS_NAMES, OTHER, sowOtherTenant } from '../support/another-tenant.ts'
import { mustRun } from '../support/run-program.ts'
import { HOST, ScriptedHost } from '../support/scripted-host.ts'

const planted: string[] = []
/** A secret like the ones people have; each is used in one place. */
function canary(what: string): string {
  const text = `canary-${what}-${randomBytes(9).toString('base64url')}`
  planted.push(text)
  return text
}
const [HEX, UUID, SHORT] = [randomBytes(16).toString('hex'), crypto.randomUUID(), 'Zq7-x9']
planted.push(HEX, UUID, SHORT)
const PEM = `-----BEGIN OPENSSH PRIVATE KEY-----\n${canary('pem')}\n-----END OPENSSH PRIVATE KEY-----`

/** Secrets in every field of the store that takes text, and in the log. */
function sow(stores: Stores, dir: string): void {
  sowOtherTenant(stores)
  const ssh = {
    host: `${canary('ssh-host')}.lab.test`,
    port: 2222,
    user: canary('ssh-user'),
    identityFile: canary('key-file'),
  }
  stores.hosts.create({
    ...{ id: 'c'.repeat(32), tenant: 'default', name: 'secret-rack', kind: 'ssh', facts: null },
    ssh: { ...ssh, hostname: canary('typed'), useSudo: true, clientDetail: `needs ${canary('client-detail')}` },
    hostKeyFingerprint: `SHA256:${canary('fingerprint')}`,
    agent: {
      ...{ socketPath: `/run/${canary('socket')}`, executable: canary('executable'), stateDir: canary('state-dir') },
      ...{ identityPublicKey: 'A'.repeat(43), runsAs: canary('runs-as'), startedBy: canary('started-by') },
    },
  })
  stores.vms.create({
    ...{
      id: 'd'.repeat(32),
      hostId: HOST,
      name: 'payroll-db',
      imageUrl: `https://${canary('image-user')}@x.test/a?t=${canary('image-token')}`,
    },
    ...{
      imageSha256: 'e'.repeat(64),
      imageKind: 'disk',
      imageFormat: '',
      clockPolicy: 'auto',
      network: canary('network'),
    },
    cloudInit: new TextEncoder().encode(`#cloud-config\npassword: ${canary('user-data')}\n`),
    ...{ vcpus: 1, memMb: 512, diskGb: 10, powerState: 'running', autostart: true, backend: canary('backend') },
    labels: { [canary('label-key')]: canary('label-value') },
    sshAuthorizedKeys: [`ssh-ed25519 AAAA${canary('ssh-key')} ${canary('key-comment')}`],
    ...{
      trustedCas: [canary('ca')],
      injectedKey: { fingerprint: canary('injected'), comment: canary('injected-comment') },
    },
  })
  stores.vms.setStatus('d'.repeat(32), HOST, {
    ...{
      status: 'failed',
      lastError: `password ${canary('last-error')} refused by ${SHORT}`,
      lastReason: 'vm/create-failed',
      ip: '',
    },
  })
  stores.tasks.save({
    ...{
      id: 'f'.repeat(32),
      tenant: 'default',
      kind: 'add_host',
      subject: canary('subject'),
      state: 'failed',
      question: null,
    },
    steps: [
      {
        name: canary('step'),
        state: 'failed',
        detail: `${canary('step-detail')} ${HEX}`,
        startedAt: null,
        endedAt: null,
        doneBytes: 0,
        totalBytes: null,
        log: [canary('step-log')],
      },
    ],
    fault: {
      ...{ code: 'ssh/auth-refused', disposition: 'permanent', id: 'x' },
      params: {
        address: `ops@${canary('fault-address')}:22`,
        detail: `token=${canary('fault-detail')} ${PEM}`,
        [canary('param')]: UUID,
      },
    },
    ...{
      resultId: '',
      owner: { user: '', client: 'eitri', requestId: '' },
      goesOn: null,
      createdAt: new Date(),
      endedAt: new Date(),
    },
  })
  stores.audit.add({
    ...{ action: 'vm.update', tenant: 'default', vmId: 'd'.repeat(32) },
    detail: { name: canary('audit-name'), [canary('audit-key')]: canary('audit-detail') },
    ...{ before: JSON.stringify({ labels: canary('before') }), after: JSON.stringify({ labels: canary('after') }) },
  })
  mkdirSync(join(dir, 'data', 'log'), { recursive: true })
  const line = (fields: object) => `${JSON.stringify({ at: new Date().toISOString(), level: 'warn', ...fields })}\n`
  writeFileSync(
    join(dir, 'data', 'log', 'control.log'),
    [
      line({
        event: 'link.broke',
        host: HOST,
        code: 'host/unreachable',
        message: `${canary('log-message')} from 192.0.2.77`,
      }),
      line({
        event: 'api.bug',
        method: 'CreateVm',
        stack: `Error: ${canary('stack')}\n    at file:///home/${canary('home')}/src/main/x.ts:1:2`,
      }),
      line({ event: canary('event'), [canary('log-key')]: canary('log-value') }),
      line({ event: 'session.attached', host: ITS_NAMES.host[1], message: 'of others' }),
      `not json ${canary('log-line')}\n`,
    ].join(''),
    { mode: 0o600 },
  )
}

let desk: ScriptedHost
const dir = mkdtempSync(join(tmpdir(), 'eitri-bundle-'))

beforeAll(async () => {
  desk = await ScriptedHost.open(sow)
  desk.agent.report({
    notices: [`its password is ${canary('notice')}`],
    vms: [
      {
        vmId: 'd'.repeat(32),
        phase: 'failed',
        power: 'stopped',
        detail: `${canary('vm-detail')} said payroll-db`,
        reason: canary('reason'),
      },
    ],
  })
  await vi.waitFor(async () => expect((await host())?.notices.length).toBeGreaterThan(0))
})
afterAll(async () => {
  await desk[Symbol.asyncDispose]()
  rmSync(dir, { recursive: true, force: true })
})

const host = async () => (await desk.client.hosts.getHost({ host: 'rack' })).host
const preview = async (tenant = 'default') =>
  await desk.client.support.previewBundle({}, { headers: { [TENANT_HEADER]: tenant } })
const textOf = (files: BundleFile[], name: string) => files.find((file) => file.name === name)?.text ?? ''

describe('a support bundle', () => {
  it('holds none of the secrets planted in every field, in no form', async () => {
    expect(planted.length).toBeGreaterThan(35)
    const path = join(dir, 'canary.tar.gz')
    await desk.client.support.writeBundle({ path })
    const bytes = gunzipSync(readFileSync(path)).toString('latin1')
    expect(planted.filter((secret) => bytes.includes(secret))).toEqual([])
    expect(bytes).not.toMatch(/payroll|secret-rack|192\.0\.2\.77|BEGIN/)
    const { files } = await preview()
    expect(
      planted.filter((secret) => JSON.stringify(files, (_, v) => (typeof v === 'bigint' ? 0 : v)).includes(secret)),
    ).toEqual([])
  })

  it('says the same thing of one object by the same label in every file', async () => {
    const { files } = await preview()
    const [, label] = /^(vm-\d+)$/m.exec(textOf(files, 'vms.txt')) ?? []
    expect(textOf(files, 'audit.txt')).toContain(`vm.update ${label} `)
    expect(textOf(files, 'vms.txt')).toContain(`${label}`)
    expect(textOf(files, 'hosts.txt')).toMatch(/^host-1$/m)
    expect(textOf(files, 'log.txt')).toMatch(/host=host-\d code=host\/unreachable/)
  })

  it('keeps what helps: codes, states, versions, numbers and where in the code it was', async () => {
    const { files } = await preview()
    expect(textOf(files, 'about.txt')).toContain('version: 0.1.0-test')
    expect(textOf(files, 'hosts.txt')).toContain('link: connected')
    expect(textOf(files, 'tasks.txt')).toContain('fault: ssh/auth-refused')
    expect(textOf(files, 'log.txt')).toContain('src/main/x.ts:1:2')
    expect(textOf(files, 'audit.txt')).toContain('changed labels')
  })

  it('counts what was taken out of each file, by what it is', async () => {
    const { files } = await preview()
    const taken = Object.fromEntries(files.map(({ name, redacted }) => [name, redacted]))
    expect(taken['log.txt']).toMatchObject({ address: 1 })
    expect(taken['hosts.txt']).toMatchObject({ key: 1, name: 3, secret: expect.any(Number), user: expect.any(Number) })
  })

  it("has nothing of another tenant's, and the log only where the app's own things are looked after", async () => {
    const { files } = await preview()
    const all = files.map(({ text }) => text).join('')
    for (const name of [...Object.values(ITS_NAMES).flat(), OTHER]) expect(all).not.toContain(name)
    expect(textOf(files, 'log.txt')).not.toContain('of others')
    expect(
      textOf(files, 'log.txt')
        .split('\n')
        .filter((line) => line.includes('session attached')),
    ).toEqual([])
    const other = (await preview(OTHER)).files
    expect(other.map(({ name }) => name)).not.toContain('log.txt')
  })

  it('is exactly what was shown, without the files that were left out', async () => {
    const { files, previewId } = await preview()
    await desk.vm('made-after-the-preview')
    await preview()
    const path = join(dir, 'shown.tar.gz')
    const written = await desk.client.support.writeBundle({ path, previewId, without: ['log.txt', 'audit.txt'] })
    expect(written).toMatchObject({ path, sizeBytes: BigInt(statSync(path).size) })
    const listed = await mustRun('tar', ['-xzf', path, '-C', dir, '-v'])
    expect(listed.split('\n').filter(Boolean).sort()).toEqual(
      files
        .map(({ name }) => `eitri-support/${name}`)
        .filter((name) => !/log|audit/.test(name))
        .sort(),
    )
    for (const { name, text } of files.filter(({ name }) => !/log|audit/.test(name)))
      expect(readFileSync(join(dir, 'eitri-support', name), 'utf8')).toBe(text)
  })

  it("is not written as shown when that is kept no more, was another tenant's, or gave way to a newer look", async () => {
    const path = join(dir, 'over.tar.gz')
    const write = async (previewId: string) => await desk.client.support.writeBundle({ path, previewId })
    const first = await preview()
    const theirs = await preview(OTHER)
    await expect(write(theirs.previewId)).rejects.toThrow('what was shown is not kept any more')
    const again = await desk.client.support.previewBundle({ insteadOf: first.previewId })
    await expect(write(first.previewId)).rejects.toThrow('what was shown is not kept any more')
    for (let n = 0; n < 4; n++) await preview()
    await expect(write(again.previewId)).rejects.toThrow('Look again')
    expect(existsSync(path)).toBe(false)
  })

  it('is readable by its owner alone, and takes the place of no file', async () => {
    const path = join(dir, 'mine.tar.gz')
    await desk.client.support.writeBundle({ path })
    expect(statSync(path).mode & 0o777).toBe(0o600)
    writeFileSync(join(dir, 'theirs'), 'theirs')
    await expect(desk.client.support.writeBundle({ path: join(dir, 'theirs') })).rejects.toThrow(
      `The support bundle was not written to ${join(dir, 'theirs')} (there is a file of that name). Nothing was written, and no file was replaced. Choose another file name or folder.`,
    )
    expect(readFileSync(join(dir, 'theirs'), 'utf8')).toBe('theirs')
  })

  it.each([
    ['a path that is not absolute', 'relative.tar.gz'],
    ['a folder that is not there', '/nowhere/at/all.tar.gz'],
    ['a path of 1200 letters', `/${'x'.repeat(1200)}`],
  ])('is not written to %s', async (_, path) => {
    await expect(desk.client.support.writeBundle({ path })).rejects.toThrow('The support bundle was not written')
  })

  it('is not empty', async () => {
    const without = (await preview()).files.map(({ name }) => name)
    await expect(desk.client.support.writeBundle({ path: join(dir, 'none'), without })).rejects.toThrow(
      'keep at least one',
    )
  })

  it('is in the trail, by whom and where', async () => {
    const { entries } = await desk.client.audit.listAudit({ action: 'support.bundle' })
    expect(entries.at(-1)?.detail).toMatchObject({ path: expect.stringContaining(dir) })
  })

  it('is shown and written on the command line too', async () => {
    const shown = await desk.eitri('support')
    expect([shown.code, shown.out]).toEqual([
      0,
      expect.stringMatching(/^FILE +BYTES +TAKEN OUT[\s\S]+log\.txt[\s\S]+Nothing was written\./),
    ])
    const path = join(dir, 'by-hand.tar.gz')
    const written = await desk.eitri('support', path, '--without', 'log.txt', '--without', 'audit.txt')
    expect([written.code, written.out]).toEqual([0, expect.stringContaining(`${path}: ${statSync(path).size} bytes`)])
    expect(await mustRun('tar', ['-tzf', path])).not.toContain('log.txt')
    const again = await desk.eitri('support', path)
    expect([again.code, again.err]).toEqual([1, expect.stringContaining('no file was replaced')])
  })
})
