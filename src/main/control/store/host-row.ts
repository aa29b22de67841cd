/** A host to go through. */
export interface HostHop {
  /** As typed. */
  hostname: string
  /** As resolved: what is dialled. */
  host: string
  port: number
  user: string
  identityFiles: string[]
  identitiesOnly: boolean
  /** As in HostSsh. */
  identityAgent?: string
  hostKeyName?: string
  knownHostsFiles: string[]
}

/** What a person said to the system's ssh, which reads its own configuration for the rest at each dial. */
export interface HostTyped {
  host: string
  /** Absent = as ssh finds it; the others too. */
  port?: number
  user?: string
  identityFile?: string
  jump?: string
}

/** How an SSH host is dialled. */
export interface HostSsh {
  /** As resolved: what is dialled. */
  host: string
  port: number
  user: string
  /** Empty = as ssh finds one. */
  identityFile: string
  /** As the person typed it. */
  hostname: string
  useSudo: boolean
  /** Socket of the SSH agent the configuration names. Absent = the environment's. */
  identityAgent?: string
  identitiesOnly?: boolean
  /** What the host's key is filed under. Absent = host. */
  hostKeyName?: string
  /** Public half of the key that let us in, base64: offered before all others. Absent = none did. */
  signInKey?: string
  /** Where the configuration has known hosts. Absent = the usual files. */
  knownHostsFiles?: string[]
  /** Hosts to go through, first to dial first. Absent = none. */
  hops?: HostHop[]
  /** Who carries it. Absent = ssh2. */
  client?: 'openssh'
  /** Why ssh2 does not, one sentence. */
  clientDetail?: string
  /** What the system's ssh is told. */
  typed?: HostTyped
}

export interface HostAgent {
  /** On the host. */
  socketPath: string
  executable: string
  stateDir: string
  /** ed25519 public key, raw 32 bytes, base64: what Hello must prove. */
  identityPublicKey: string
  runsAs: string
  startedBy: string
}

/** Facts as last told; every field optional because older agents say less. */
export interface HostFactsRow {
  hostname: string
  os: string
  platform: string
  arch: string
  kernel: string
  init: string
  cpuModel: string
  cpus: number
  memBytes: number
  diskBytes: number
  diskFreeBytes: number
  acceleration: string
  accelerationDetail: string
  vmmVersion: string
  missing: string[]
  runsAs: string
  startedBy: string
}

export interface CapacityRow {
  vcpus: number
  memMb: number
  diskGb: number
}

export type HostStatus = 'enrolled' | 'decommissioning'

/** How it is signed in to: by the person's SSH, by this store's own key, or not any more. */
export type HostCredential = 'login' | 'key' | 'revoked'

/** Takes no new VMs; those it has are stopped, or left. */
export type HostDraining = '' | 'stop' | 'leave'

/** What onboarding knows at its end, written in one go. */
export interface NewHost {
  tenant: string
  /** 32 hex characters. */
  id: string
  name: string
  kind: 'local' | 'ssh'
  ssh: HostSsh | null
  agent: HostAgent
  /** SHA256:… of the SSH host key; empty without SSH. */
  hostKeyFingerprint: string
  facts: HostFactsRow | null
  /** Absent = the person's SSH login. */
  credential?: Exclude<HostCredential, 'revoked'>
}

export interface HostRow extends Omit<NewHost, 'credential'> {
  labels: Record<string, string>
  credential: HostCredential
  /** Absent = it does not end by date. */
  credentialEndsAt: Date | null
  draining: HostDraining
  status: HostStatus
  /** Absent = never told. */
  capacity: CapacityRow | null
  agentVersion: string
  backend: string
  guestCidr: string
  uplinkAddress: string
  /** Last report of a session that ended; live ones are in the registry. */
  lastSeenAt: Date | null
  epoch: bigint
  /** The last epoch given to a snapshot; 0 = nothing was ever sent. */
  sentEpoch: bigint
  createdAt: Date
}

/** Said by Hello; absent fields leave the row as it is. */
export interface HostTold {
  facts?: HostFactsRow
  capacity?: CapacityRow
  agentVersion?: string
  backend?: string
  guestCidr?: string
  uplinkAddress?: string
}

/** A row as SQLite gives it. */
export interface RawHost {
  id: string
  tenant: string
  name: string
  status: HostStatus
  kind: 'local' | 'ssh'
  ssh: string | null
  agent_socket_path: string
  agent_executable: string
  agent_state_dir: string
  agent_identity: string
  agent_runs_as: string
  agent_started_by: string
  host_key_fingerprint: string
  facts: string | null
  capacity: string | null
  agent_version: string
  backend: string
  guest_cidr: string
  uplink_address: string
  last_seen_at: string | null
  epoch: number
  sent_epoch: number
  created_at: string
  labels: string
  credential: HostCredential
  credential_ends_at: string | null
  draining: HostDraining
}

const parsed = <T>(text: string | null): T | null => (text === null ? null : (JSON.parse(text) as T))

export const hostOf = (raw: RawHost): HostRow => ({
  id: raw.id,
  tenant: raw.tenant,
  name: raw.name,
  status: raw.status,
  kind: raw.kind,
  ssh: parsed<HostSsh>(raw.ssh),
  agent: {
    socketPath: raw.agent_socket_path,
    executable: raw.agent_executable,
    stateDir: raw.agent_state_dir,
    identityPublicKey: raw.agent_identity,
    runsAs: raw.agent_runs_as,
    startedBy: raw.agent_started_by,
  },
  hostKeyFingerprint: raw.host_key_fingerprint,
  facts: parsed<HostFactsRow>(raw.facts),
  capacity: parsed<CapacityRow>(raw.capacity),
  agentVersion: raw.agent_version,
  backend: raw.backend,
  guestCidr: raw.guest_cidr,
  uplinkAddress: raw.uplink_address,
  lastSeenAt: raw.last_seen_at === null ? null : new Date(raw.last_seen_at),
  epoch: BigInt(raw.epoch),
  sentEpoch: BigInt(raw.sent_epoch),
  createdAt: new Date(raw.created_at),
  labels: JSON.parse(raw.labels) as Record<string, string>,
  credential: raw.credential,
  credentialEndsAt: raw.credential_ends_at === null ? null : new Date(raw.credential_ends_at),
  draining: raw.draining,
})
