import type { Stores } from '../../src/main/control/store/stores.ts'

export const OTHER = 'team-b'
const id = (letter: string) => letter.repeat(32)

/** By these the things of the other tenant are known. What is there of a new kind is sown here too. */
export const ITS_NAMES = {
  host: [id('1'), 'rack-b'],
  vm: [id('2'), 'web-b', id('3'), 'gone-b'],
  port: [id('4')],
  task: [id('5'), 'job-b'],
  ca: [id('6'), 'ca-b', 'SHA256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb'],
  certificate: ['8123456789'],
  template: [id('7'), 'template-b'],
} as const

/** Everything a tenant can have, in the tenant `team-b`. */
export function sowOtherTenant({ db, tenants, hosts, vms, exposures, tasks }: Stores): void {
  tenants.create(OTHER, { maxVms: null, maxVcpus: null, maxMemMb: null, maxDiskGb: null, graceS: null })
  const [host, hostName] = ITS_NAMES.host
  hosts.create({
    ...{ id: host, tenant: OTHER, name: hostName, kind: 'local', ssh: null, hostKeyFingerprint: '', facts: null },
    agent: {
      ...{ socketPath: '/nowhere/agent.sock', executable: '', stateDir: '/nowhere', identityPublicKey: 'b'.repeat(43) },
      ...{ runsAs: 'root', startedBy: 'systemd' },
    },
  })
  const [vm, vmName, gone, goneName] = ITS_NAMES.vm
  for (const [vmId, name] of [
    [vm, vmName],
    [gone, goneName],
  ] as const)
    vms.create({
      ...{
        id: vmId,
        hostId: host,
        name,
        imageUrl: '',
        imageSha256: 'd'.repeat(64),
        imageKind: 'disk',
        imageFormat: '',
      },
      ...{ clockPolicy: 'auto', cloudInit: new Uint8Array(), vcpus: 1, memMb: 512, diskGb: 10, powerState: 'running' },
      ...{
        autostart: true,
        network: '',
        backend: '',
        labels: {},
        sshAuthorizedKeys: [],
        trustedCas: [],
        injectedKey: null,
      },
    })
  vms.edit(gone, 'vm.delete', { deletedAt: new Date(), graceS: 604_800 })
  const [port] = ITS_NAMES.port
  exposures.create({ id: port, vmId: vm, guestPort: 80, hostPort: 0, protocol: 'tcp', scope: 'lan' })
  const [task, subject] = ITS_NAMES.task
  tasks.save({
    ...{ id: task, tenant: OTHER, kind: 'add_host', subject, state: 'failed', steps: [], question: null },
    ...{
      fault: null,
      resultId: host,
      owner: { user: '', client: 'eitri', requestId: '' },
      goesOn: null,
      createdAt: new Date(),
      endedAt: new Date(),
    },
  })
  const [ca, caName, fingerprint] = ITS_NAMES.ca
  const key = `ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI${'B'.repeat(43)}`
  db.run(
    `INSERT INTO cas (id, tenant, kind, name, public_key, fingerprint, held, state, created_at)
     VALUES ($ca, $tenant, 'user', $caName, $key, $fingerprint, 'elsewhere', 'trusted', $now)`,
    { ca, tenant: OTHER, caName, key, fingerprint, now: new Date().toISOString() },
  )
  const [serial] = ITS_NAMES.certificate
  const now = new Date().toISOString()
  db.run(
    `INSERT INTO certificates (serial, tenant, ca_id, kind, key_id, principals, key_fingerprint, vm_id, valid_after, valid_before, issued_at)
     VALUES ($serial, $tenant, $ca, 'user', 'b', '[]', $fingerprint, $vm, $now, $later, $now)`,
    { serial, tenant: OTHER, ca, fingerprint, vm, now, later: new Date(Date.now() + 3_600_000).toISOString() },
  )
  const [template, templateName] = ITS_NAMES.template
  db.run(
    `INSERT INTO templates (id, tenant, name, spec, cloud_init, created_at)
     VALUES ($template, $tenant, $templateName, '{}', x'', $now)`,
    { template, tenant: OTHER, templateName, now },
  )
}
