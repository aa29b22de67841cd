import type { NewHost } from '../../src/main/control/store/host-row.ts'
import type { NewVm, VmRow } from '../../src/main/control/store/vm-row.ts'

let serial = 0
/** 32 hex characters, another each time. */
export const anId = (): string => (++serial).toString(16).padStart(32, '0')

export function aHost(change: Partial<NewHost> = {}): NewHost {
  const id = change.id ?? anId()
  return {
    id,
    tenant: 'default',
    name: `host-${serial}`,
    kind: 'local',
    ssh: null,
    agent: {
      socketPath: '/run/eitri/agent.sock',
      executable: '/usr/local/bin/eitri-agent',
      stateDir: '/var/lib/eitri',
      identityPublicKey: Buffer.from(id.padEnd(32, '.').slice(-32)).toString('base64'),
      runsAs: 'root',
      startedBy: 'systemd',
    },
    hostKeyFingerprint: '',
    facts: null,
    ...change,
  }
}

export function aVm(hostId: string, change: Partial<NewVm> = {}): NewVm {
  return {
    id: anId(),
    hostId,
    name: `vm-${serial}`,
    imageUrl: '',
    imageSha256: 'a'.repeat(64),
    imageKind: 'disk',
    imageFormat: '',
    clockPolicy: 'auto',
    cloudInit: new Uint8Array(),
    vcpus: 1,
    memMb: 512,
    diskGb: 10,
    powerState: 'running',
    autostart: true,
    network: '',
    backend: '',
    labels: {},
    sshAuthorizedKeys: [],
    trustedCas: null,
    injectedKey: null,
    ...change,
  }
}

/** A VM as the store gives it. */
export const aVmRow = (hostId: string, change: Partial<VmRow> = {}): VmRow => ({
  ...aVm(hostId),
  tenant: 'default',
  forceStop: false,
  restartCount: 0,
  hostCertRequired: false,
  hostCertificate: '',
  protected: false,
  autostartDelayS: 0,
  autostartOrder: 0,
  cloneOf: '',
  status: '',
  lastError: '',
  lastReason: '',
  assignedIp: '',
  networkIp: '',
  hostPublicKey: '',
  createdAt: new Date(0),
  deletedAt: null,
  graceS: null,
  ...change,
})
