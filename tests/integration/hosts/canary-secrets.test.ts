import { createPrivateKey, generateKeyPairSync, randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { describeHosts } from '../../support/describe-hosts.ts'
import { Desktop } from '../../support/eitri.ts'
import { connected, tryAddHost } from '../../support/fleet.ts'
import { rawCall } from '../../support/raw-api.ts'
import { mustRun } from '../../support/run-program.ts'
import { filesWithSecrets, SecretWatch } from '../../support/secret-watch.ts'
import { type SshHost, startSshHost } from '../../support/ssh-host.ts'

const canary = (what: string) => `canary-${what}-${randomBytes(9).toString('base64url')}`

describeHosts('secrets', { timeout: 300_000 }, () => {
  it('in a command line or an environment are seen by the watch', async () => {
    const [argument, variable] = [canary('argument'), canary('variable')]
    const watch = new SecretWatch([argument, variable])
    await mustRun('sh', ['-c', 'sleep 0.5; true', argument], { env: { ...process.env, X: variable } })
    const { found } = await watch.end()
    expect(found.map((line) => line.split(' of ')[0]).sort()).toEqual(
      expect.arrayContaining(['secret 0 in cmdline', 'secret 1 in environ']),
    )
  })

  it('given in every field that can hold one are in no log, audit row, command line, environment or file but where they belong', async () => {
    const started = Date.now()
    const dir = mkdtempSync(join(tmpdir(), 'eitri-canary-'))
    const [passphrase, caPassphrase, userData, wrong, code] = [
      canary('passphrase'),
      canary('ca-passphrase'),
      canary('user-data'),
      canary('wrong-password'),
      canary('code'),
    ]
    await using closed = await startSshHost({ name: 'closed', variant: 'password-only' })
    await using open = await startSshHost({ name: 'open' })
    const key = join(dir, 'key')
    await mustRun('cp', [open.clientKeyPath, key])
    await mustRun('ssh-keygen', ['-q', '-p', '-P', '', '-N', passphrase, '-f', key])
    const ca = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
    const pem = ca.export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: caPassphrase })
    writeFileSync(join(dir, 'ca.pem'), pem, { mode: 0o600 })
    const caText = createPrivateKey({ key: pem, passphrase: caPassphrase }).export({ type: 'sec1', format: 'der' })
    // The private number itself, however it is written down.
    const caNumber = caText.subarray(7, 39)
    writeFileSync(join(dir, 'user-data'), `#cloud-config\nwrite_files:\n  - {path: /root/x, content: "${userData}"}\n`)
    writeFileSync(join(dir, 'bad-user-data'), `#cloud-config\nruncmd: {${userData}: [`)

    const secrets = [closed.passwords.dev, open.passwords.ops, passphrase, caPassphrase, userData, wrong, code]
    secrets.push(caNumber.toString('hex'), caNumber.toString('base64').slice(0, 40))
    const watch = new SecretWatch(secrets)
    await using desktop = await new Desktop().start()

    const refused = ['closed', '--ssh', `dev@${closed.address}`, '--accept-host-key', closed.hostKeyFingerprint]
    expect((await tryAddHost(desktop, [...refused, '--password-stdin'], { input: `${wrong}\n` })).code).toBe(1)
    expect(
      (await tryAddHost(desktop, [...refused, '--password-stdin'], { input: `${closed.passwords.dev}\n` })).code,
    ).toBe(0)
    const root = [
      '--ssh',
      `ops@${open.address}`,
      '--accept-host-key',
      open.hostKeyFingerprint,
      '--identity',
      key,
      '--sudo',
    ]
    const both = `${passphrase}\n${open.passwords.ops}\n`
    const added = await tryAddHost(desktop, ['open', ...root, '--password-stdin'], { input: both })
    expect([added.code, added.stderr]).toEqual([0, ''])
    await connected(desktop, 'open')
    const imported = [
      'ca',
      'import',
      'mine',
      '--kind',
      'user',
      '--private-key',
      join(dir, 'ca.pem'),
      '--passphrase-stdin',
    ]
    await desktop.must(imported, { input: `${caPassphrase}\n` })
    const blob = (await desktop.must(['host', 'join-blob'])).blob as string
    watch.add(blob)
    const image = ['--image-url', 'http://127.0.0.1:9/x.qcow2', '--image-sha256', 'd'.repeat(64)]
    await desktop.must(['vm', 'create', 'web', '--host', 'open', ...image, '--cloud-init', join(dir, 'user-data')])
    const bad = ['vm', 'create', 'bad', '--host', 'open', ...image, '--cloud-init', join(dir, 'bad-user-data')]
    expect((await desktop.cli(bad)).code).toBe(2)
    // Secrets where they do not belong, in shapes nobody foresaw.
    const misplaced = {
      'HostService/AddHost': [
        { name: wrong, ssh: { host: wrong } },
        { name: 'x', ssh: { host: 'h', password: { a: wrong } } },
      ],
      'HostService/SignInHost': [
        { host: 'open', password: [wrong] },
        { host: wrong, password: wrong, passphrase: wrong },
      ],
      'TaskService/AnswerTask': [{ task_id: 'none', question_id: 'q', secret: code }],
      'TrustService/ImportCa': [{ kind: 'user', name: 'bad', private_key: wrong, passphrase: wrong }],
    }
    for (const [method, bodies] of Object.entries(misplaced))
      for (const body of bodies) {
        const { status } = await rawCall(desktop.apiSocket, `eitri.fleet.v1.${method}`, JSON.stringify(body))
        expect(status, `${method} ${JSON.stringify(Object.keys(body))}`).not.toBe(200)
      }
    const audit = await desktop.cli(['audit', '--export', '-'], { plain: true })
    expect(audit.code).toBe(0)
    const backup = join(dir, 'copy.db')
    await desktop.must(['backup', backup])
    await desktop.stop('SIGTERM')

    const { found, looks, processes } = await watch.end()
    expect([looks > 50, processes > 10]).toEqual([true, true])
    expect(found).toEqual([])
    const all = [...secrets, blob]
    expect(all.filter((secret) => audit.stdout.includes(secret))).toEqual([])
    // User-data is part of what a VM should be: it lies in the store, and encoded with the VM's record on its host.
    const elsewhere = all.filter((secret) => secret !== userData)
    expect(filesWithSecrets(dir, elsewhere)).toEqual([])
    for (const secret of elsewhere) expect(desktop.filesWith(secret), secret).toEqual([])
    const kept = desktop.filesWith(userData)
    expect(kept.length).toBeGreaterThan(0)
    expect(kept.filter((file) => !/\/data\/eitri\.db(-wal)?$/.test(file))).toEqual([])
    const written = `find /etc /var /run /root /home /usr/local -type f -newermt @${Math.floor(started / 1000)} 2>/dev/null`
    const grep = `grep -laF -f - $(${written}) || true`
    // What the agent keeps of its last orders holds user-data, and nothing else does.
    const holding = async (host: SshHost) =>
      (await host.exec(['sh', '-c', grep], { input: all.join('\n') })).stdout
        .split('\n')
        .filter((file) => file !== '' && !/^\/var\/lib\/eitri\/(desired|vms\/)/.test(file))
    for (const host of [closed, open]) {
      expect(await holding(host)).toEqual([])
      await host.exec(['sh', '-c', 'cat >/root/planted'], { input: `x${userData}x` })
      expect(await holding(host)).toEqual(['/root/planted'])
    }
    rmSync(dir, { recursive: true, force: true })
  })
})
