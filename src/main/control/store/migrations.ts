import { INVARIANTS } from './migrations-invariants.ts'

const INITIAL = `
CREATE TABLE settings (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;

CREATE TABLE tenants (name TEXT PRIMARY KEY, created_at TEXT NOT NULL) STRICT;
INSERT INTO tenants VALUES ('default', strftime('%Y-%m-%dT%H:%M:%fZ')), ('system', strftime('%Y-%m-%dT%H:%M:%fZ'));

CREATE TABLE hosts (
  id TEXT PRIMARY KEY,
  tenant TEXT NOT NULL DEFAULT 'default' REFERENCES tenants(name),
  name TEXT NOT NULL,
  status TEXT NOT NULL DEFAULT 'enrolled',
  kind TEXT NOT NULL,
  ssh TEXT,
  agent_socket_path TEXT NOT NULL,
  agent_executable TEXT NOT NULL,
  agent_state_dir TEXT NOT NULL,
  agent_identity TEXT NOT NULL,
  agent_runs_as TEXT NOT NULL,
  agent_started_by TEXT NOT NULL,
  host_key_fingerprint TEXT NOT NULL,
  facts TEXT,
  capacity TEXT,
  agent_version TEXT NOT NULL DEFAULT '',
  backend TEXT NOT NULL DEFAULT '',
  guest_cidr TEXT NOT NULL DEFAULT '',
  uplink_address TEXT NOT NULL DEFAULT '',
  last_seen_at TEXT,
  epoch INTEGER NOT NULL DEFAULT 1,
  sent_epoch INTEGER NOT NULL DEFAULT 0,
  sent_digest TEXT NOT NULL DEFAULT '',
  created_at TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX hosts_name ON hosts(tenant, name);
CREATE UNIQUE INDEX hosts_identity ON hosts(agent_identity);

CREATE TABLE host_keys (
  host TEXT NOT NULL,
  port INTEGER NOT NULL,
  type TEXT NOT NULL,
  blob TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  first_seen TEXT NOT NULL,
  how TEXT NOT NULL,
  PRIMARY KEY (host, port, type)
) STRICT;

CREATE TABLE images (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL,
  arch TEXT NOT NULL,
  url TEXT NOT NULL,
  sha256 TEXT NOT NULL,
  size_bytes INTEGER,
  is_default INTEGER NOT NULL DEFAULT 0,
  default_vcpus INTEGER NOT NULL DEFAULT 0,
  default_mem_mb INTEGER NOT NULL DEFAULT 0,
  default_disk_gb INTEGER NOT NULL DEFAULT 0,
  description TEXT NOT NULL DEFAULT '',
  created_at TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX images_default ON images(arch) WHERE is_default = 1;
CREATE INDEX images_sha256 ON images(sha256);

CREATE TABLE vms (
  id TEXT PRIMARY KEY,
  host_id TEXT NOT NULL REFERENCES hosts(id) ON DELETE CASCADE,
  tenant TEXT NOT NULL DEFAULT 'default' REFERENCES tenants(name),
  name TEXT NOT NULL,
  image_url TEXT NOT NULL,
  image_sha256 TEXT NOT NULL,
  image_kind TEXT NOT NULL,
  cloud_init BLOB NOT NULL,
  vcpus INTEGER NOT NULL CHECK (vcpus >= 1),
  mem_mb INTEGER NOT NULL CHECK (mem_mb >= 1),
  disk_gb INTEGER NOT NULL CHECK (disk_gb >= 1),
  power_state TEXT NOT NULL DEFAULT 'running',
  force_stop INTEGER NOT NULL DEFAULT 0,
  restart_count INTEGER NOT NULL DEFAULT 0,
  autostart INTEGER NOT NULL DEFAULT 1,
  network TEXT NOT NULL DEFAULT '',
  backend TEXT NOT NULL DEFAULT '',
  labels TEXT NOT NULL DEFAULT '{}',
  ssh_authorized_keys TEXT NOT NULL DEFAULT '[]',
  trusted_cas TEXT,
  injected_key TEXT,
  status TEXT NOT NULL DEFAULT '',
  last_error TEXT NOT NULL DEFAULT '',
  last_reason TEXT NOT NULL DEFAULT '',
  assigned_ip TEXT NOT NULL DEFAULT '',
  network_ip TEXT NOT NULL DEFAULT '',
  host_public_key TEXT NOT NULL DEFAULT '',
  created_at TEXT NOT NULL,
  deleted_at TEXT,
  grace_s INTEGER
) STRICT;
CREATE UNIQUE INDEX vms_live_name ON vms(tenant, name) WHERE deleted_at IS NULL;
CREATE INDEX vms_host ON vms(host_id);
CREATE INDEX vms_image ON vms(image_sha256);

CREATE TRIGGER vms_host_accepts BEFORE INSERT ON vms
WHEN (SELECT status FROM hosts WHERE id = NEW.host_id) IS NOT 'enrolled'
BEGIN SELECT RAISE(ABORT, 'host not accepting new VMs'); END;

CREATE TRIGGER vms_inserted AFTER INSERT ON vms
BEGIN UPDATE hosts SET epoch = epoch + 1 WHERE id = NEW.host_id; END;

CREATE TRIGGER vms_removed AFTER DELETE ON vms
BEGIN UPDATE hosts SET epoch = epoch + 1 WHERE id = OLD.host_id; END;

CREATE TRIGGER vms_desired AFTER UPDATE ON vms
WHEN (OLD.name, OLD.image_url, OLD.image_sha256, OLD.image_kind, OLD.cloud_init, OLD.vcpus, OLD.mem_mb, OLD.disk_gb,
      OLD.power_state, OLD.force_stop, OLD.restart_count, OLD.autostart, OLD.network, OLD.backend,
      OLD.ssh_authorized_keys, OLD.trusted_cas, OLD.deleted_at IS NULL, OLD.grace_s)
  IS NOT (NEW.name, NEW.image_url, NEW.image_sha256, NEW.image_kind, NEW.cloud_init, NEW.vcpus, NEW.mem_mb, NEW.disk_gb,
      NEW.power_state, NEW.force_stop, NEW.restart_count, NEW.autostart, NEW.network, NEW.backend,
      NEW.ssh_authorized_keys, NEW.trusted_cas, NEW.deleted_at IS NULL, NEW.grace_s)
BEGIN UPDATE hosts SET epoch = epoch + 1 WHERE id = NEW.host_id; END;

CREATE TABLE tasks (
  id TEXT PRIMARY KEY,
  kind TEXT NOT NULL,
  subject TEXT NOT NULL,
  state TEXT NOT NULL,
  steps TEXT NOT NULL DEFAULT '[]',
  question TEXT,
  fault TEXT,
  result_id TEXT NOT NULL DEFAULT '',
  created_at TEXT NOT NULL,
  ended_at TEXT
) STRICT;

CREATE TABLE audit (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  at TEXT NOT NULL,
  action TEXT NOT NULL,
  tenant TEXT NOT NULL,
  vm_id TEXT NOT NULL DEFAULT '',
  host_id TEXT NOT NULL DEFAULT '',
  detail TEXT NOT NULL DEFAULT '{}'
) STRICT;
CREATE INDEX audit_vm ON audit(vm_id) WHERE vm_id <> '';
CREATE INDEX audit_host ON audit(host_id) WHERE host_id <> '';
CREATE INDEX audit_at ON audit(at);
`

/** What a disk image has to be by its content; empty = either. A VM keeps what its image said at create. */
const IMAGE_FORMAT = `
ALTER TABLE images ADD COLUMN format TEXT NOT NULL DEFAULT '';
ALTER TABLE vms ADD COLUMN image_format TEXT NOT NULL DEFAULT '';
`

/** Who keeps the guest's clock is desired state: an edit of it tells the host. */
const CLOCK_POLICY = `
ALTER TABLE vms ADD COLUMN clock_policy TEXT NOT NULL DEFAULT 'auto';

CREATE TRIGGER vms_clock AFTER UPDATE OF clock_policy ON vms WHEN OLD.clock_policy IS NOT NEW.clock_policy
BEGIN UPDATE hosts SET epoch = epoch + 1 WHERE id = NEW.host_id; END;
`

/** Published ports: the unique index is what lets one of two takers win; rows go with their VM, and nothing sweeps them. */
const EXPOSURES = `
CREATE TABLE exposures (
  id TEXT PRIMARY KEY,
  tenant TEXT NOT NULL REFERENCES tenants(name),
  vm_id TEXT NOT NULL REFERENCES vms(id) ON DELETE CASCADE,
  host_id TEXT NOT NULL REFERENCES hosts(id) ON DELETE CASCADE,
  guest_port INTEGER NOT NULL CHECK (guest_port BETWEEN 1 AND 65535),
  host_port INTEGER NOT NULL CHECK (host_port BETWEEN 1 AND 65535),
  protocol TEXT NOT NULL CHECK (protocol IN ('tcp', 'udp')),
  scope TEXT NOT NULL CHECK (scope IN ('lan', 'loopback')),
  created_at TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX exposures_port ON exposures(host_id, protocol, host_port);
CREATE INDEX exposures_vm ON exposures(vm_id);

CREATE TRIGGER exposures_inserted AFTER INSERT ON exposures
BEGIN UPDATE hosts SET epoch = epoch + 1 WHERE id = NEW.host_id; END;

CREATE TRIGGER exposures_removed AFTER DELETE ON exposures
BEGIN UPDATE hosts SET epoch = epoch + 1 WHERE id = OLD.host_id; END;
`

const LIVE = 'tenant = NEW.tenant AND deleted_at IS NULL'
const BACK = 'OLD.deleted_at IS NOT NULL AND NEW.deleted_at IS NULL'
/** A quota, what is used of it, and when an edit of a VM needs more: who lowers a quota refuses more, and stops nobody. */
const QUOTAS = [
  ['max_vms', `SELECT count(*) FROM vms WHERE ${LIVE}`, BACK],
  ['max_vcpus', `SELECT sum(vcpus) FROM vms WHERE ${LIVE}`, `${BACK} OR NEW.vcpus > OLD.vcpus`],
  ['max_mem_mb', `SELECT sum(mem_mb) FROM vms WHERE ${LIVE}`, `${BACK} OR NEW.mem_mb > OLD.mem_mb`],
  ['max_disk_gb', 'SELECT sum(disk_gb) FROM vms WHERE tenant = NEW.tenant', 'NEW.disk_gb > OLD.disk_gb'],
] as const
const overQuota = (quota: string, used: string, grew = 'true') =>
  `SELECT RAISE(ABORT, 'over quota ${quota}') FROM tenants WHERE name = NEW.tenant AND (${grew}) AND ${quota} < (${used});`

/** Tenants partition names, CAs, quotas and audit. Absent quota = none; grace of a deleted VM in seconds, absent = the default. */
const TENANTS = `
ALTER TABLE tenants ADD COLUMN max_vms INTEGER CHECK (max_vms >= 0);
ALTER TABLE tenants ADD COLUMN max_vcpus INTEGER CHECK (max_vcpus >= 0);
ALTER TABLE tenants ADD COLUMN max_mem_mb INTEGER CHECK (max_mem_mb >= 0);
ALTER TABLE tenants ADD COLUMN max_disk_gb INTEGER CHECK (max_disk_gb >= 0);
ALTER TABLE tenants ADD COLUMN grace_s INTEGER CHECK (grace_s >= 0);
ALTER TABLE tasks ADD COLUMN tenant TEXT NOT NULL DEFAULT 'default';
CREATE INDEX vms_tenant ON vms(tenant);

CREATE TRIGGER vms_quota_new AFTER INSERT ON vms
BEGIN
${QUOTAS.map(([quota, used]) => overQuota(quota, used)).join('\n')}
END;

CREATE TRIGGER vms_quota_more AFTER UPDATE OF vcpus, mem_mb, disk_gb, deleted_at ON vms
BEGIN
${QUOTAS.map(([quota, used, grew]) => overQuota(quota, used, grew)).join('\n')}
END;
`

/** Who asked, through what, under which request, and what it changed. Rows are never edited; only retention removes them. */
const AUDIT_WHO = `
ALTER TABLE audit ADD COLUMN user TEXT NOT NULL DEFAULT '';
ALTER TABLE audit ADD COLUMN client TEXT NOT NULL DEFAULT '';
ALTER TABLE audit ADD COLUMN request_id TEXT NOT NULL DEFAULT '';
ALTER TABLE audit ADD COLUMN before TEXT;
ALTER TABLE audit ADD COLUMN after TEXT;
CREATE INDEX audit_tenant ON audit(tenant, id);
CREATE INDEX audit_action ON audit(tenant, action, id);
CREATE INDEX audit_request ON audit(request_id) WHERE request_id <> '';
CREATE TRIGGER audit_append_only BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;
CREATE TRIGGER audit_kept BEFORE DELETE ON audit
WHEN OLD.at >= coalesce((SELECT value FROM settings WHERE key = 'audit.pruned_before'), '')
BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;
`

/** SSH authorities hold public keys only; private keys are files or in the keychain. One public key belongs to one tenant. */
const TRUST = `
CREATE TABLE cas (
  id TEXT PRIMARY KEY,
  tenant TEXT NOT NULL REFERENCES tenants(name),
  kind TEXT NOT NULL CHECK (kind IN ('host', 'user')),
  name TEXT NOT NULL,
  public_key TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  held TEXT NOT NULL CHECK (held IN ('keychain', 'file', 'elsewhere')),
  state TEXT NOT NULL CHECK (state IN ('signing', 'trusted', 'retired')),
  created_at TEXT NOT NULL,
  retired_at TEXT
) STRICT;
CREATE UNIQUE INDEX cas_public_key ON cas(public_key);
CREATE UNIQUE INDEX cas_name ON cas(tenant, kind, name);
CREATE UNIQUE INDEX cas_signing ON cas(tenant, kind) WHERE state = 'signing';

CREATE TABLE certificates (
  serial TEXT PRIMARY KEY,
  tenant TEXT NOT NULL REFERENCES tenants(name),
  ca_id TEXT NOT NULL REFERENCES cas(id),
  kind TEXT NOT NULL CHECK (kind IN ('host', 'user')),
  key_id TEXT NOT NULL,
  principals TEXT NOT NULL,
  key_fingerprint TEXT NOT NULL,
  vm_id TEXT NOT NULL DEFAULT '',
  valid_after TEXT NOT NULL,
  valid_before TEXT NOT NULL,
  issued_at TEXT NOT NULL
) STRICT;
CREATE INDEX certificates_vm ON certificates(vm_id) WHERE vm_id <> '';
CREATE INDEX certificates_issued ON certificates(tenant, issued_at);
CREATE INDEX certificates_before ON certificates(valid_before);

CREATE TABLE revoked_certificates (
  tenant TEXT NOT NULL REFERENCES tenants(name),
  serial TEXT NOT NULL,
  ca_fingerprint TEXT NOT NULL DEFAULT '',
  reason TEXT NOT NULL DEFAULT '',
  revoked_at TEXT NOT NULL,
  valid_before TEXT,
  PRIMARY KEY (tenant, serial)
) STRICT;
CREATE TRIGGER revoked_inserted AFTER INSERT ON revoked_certificates
BEGIN UPDATE hosts SET epoch = epoch + 1 WHERE tenant = NEW.tenant; END;
CREATE TRIGGER revoked_removed AFTER DELETE ON revoked_certificates
BEGIN UPDATE hosts SET epoch = epoch + 1 WHERE tenant = OLD.tenant; END;
CREATE TRIGGER vms_certificates AFTER DELETE ON vms
BEGIN DELETE FROM certificates WHERE kind = 'host' AND vm_id = OLD.id; END;

ALTER TABLE vms ADD COLUMN host_cert_required INTEGER NOT NULL DEFAULT 0;
ALTER TABLE vms ADD COLUMN host_certificate TEXT NOT NULL DEFAULT '';
CREATE TRIGGER vms_certified AFTER UPDATE OF host_certificate, host_cert_required ON vms
WHEN (OLD.host_certificate, OLD.host_cert_required) IS NOT (NEW.host_certificate, NEW.host_cert_required)
BEGIN UPDATE hosts SET epoch = epoch + 1 WHERE id = NEW.host_id; END;
`

/** Hosts that joined by a blob are reached with this store's own key: their credential ends by date or by revocation. */
const HOST_LIFE = `
ALTER TABLE hosts ADD COLUMN labels TEXT NOT NULL DEFAULT '{}';
ALTER TABLE hosts ADD COLUMN credential TEXT NOT NULL DEFAULT 'login' CHECK (credential IN ('login', 'key', 'revoked'));
ALTER TABLE hosts ADD COLUMN credential_ends_at TEXT;
ALTER TABLE hosts ADD COLUMN draining TEXT NOT NULL DEFAULT '' CHECK (draining IN ('', 'stop', 'leave'));

CREATE TABLE join_tokens (
  hash TEXT PRIMARY KEY,
  tenant TEXT NOT NULL REFERENCES tenants(name),
  created_at TEXT NOT NULL,
  expires_at TEXT NOT NULL,
  used_at TEXT,
  host_id TEXT NOT NULL DEFAULT ''
) STRICT;

DROP TRIGGER vms_host_accepts;
CREATE TRIGGER vms_host_accepts BEFORE INSERT ON vms
WHEN NOT EXISTS (SELECT 1 FROM hosts WHERE id = NEW.host_id AND status = 'enrolled' AND draining = '')
BEGIN SELECT RAISE(ABORT, 'host not accepting new VMs'); END;
`

/** Protected VMs are not deleted; autostart has a delay and an order; a clone names its source until its host has made it. */
const VM_EDITS = `
ALTER TABLE vms ADD COLUMN protected INTEGER NOT NULL DEFAULT 0;
ALTER TABLE vms ADD COLUMN autostart_delay_s INTEGER NOT NULL DEFAULT 0 CHECK (autostart_delay_s BETWEEN 0 AND 3600);
ALTER TABLE vms ADD COLUMN autostart_order INTEGER NOT NULL DEFAULT 0 CHECK (autostart_order BETWEEN 0 AND 10000);
ALTER TABLE vms ADD COLUMN clone_of TEXT NOT NULL DEFAULT '';
CREATE TRIGGER vms_protected BEFORE UPDATE OF deleted_at ON vms
WHEN OLD.deleted_at IS NULL AND NEW.deleted_at IS NOT NULL AND OLD.protected = 1
BEGIN SELECT RAISE(ABORT, 'vm is protected'); END;
CREATE TRIGGER vms_start_order AFTER UPDATE OF autostart_delay_s, autostart_order, clone_of ON vms
WHEN (OLD.autostart_delay_s, OLD.autostart_order, OLD.clone_of) IS NOT (NEW.autostart_delay_s, NEW.autostart_order, NEW.clone_of)
BEGIN UPDATE hosts SET epoch = epoch + 1 WHERE id = NEW.host_id; END;

CREATE TABLE templates (
  id TEXT PRIMARY KEY,
  tenant TEXT NOT NULL REFERENCES tenants(name),
  name TEXT NOT NULL,
  spec TEXT NOT NULL,
  cloud_init BLOB NOT NULL,
  description TEXT NOT NULL DEFAULT '',
  created_at TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX templates_name ON templates(tenant, name);
`

/** Where an image's digest comes from, what is in it, and which entry of the catalogue it was made from. */
const IMAGE_ORIGIN = `
ALTER TABLE images ADD COLUMN verified TEXT NOT NULL DEFAULT ''
  CHECK (verified IN ('', 'given', 'built', 'imported', 'listed', 'checked'));
ALTER TABLE images ADD COLUMN digests_url TEXT NOT NULL DEFAULT '';
ALTER TABLE images ADD COLUMN os TEXT NOT NULL DEFAULT '';
ALTER TABLE images ADD COLUMN virtual_bytes INTEGER CHECK (virtual_bytes >= 0);
ALTER TABLE images ADD COLUMN catalogue TEXT NOT NULL DEFAULT '';
`

/** A task knows whose it is and how it goes on after a restart; an entry of the trail knows its task and how it ended. */
const TASKS_GO_ON = `
ALTER TABLE tasks ADD COLUMN owner TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(owner));
ALTER TABLE tasks ADD COLUMN goes_on TEXT CHECK (goes_on IS NULL OR json_valid(goes_on));
CREATE INDEX tasks_ended ON tasks(tenant, ended_at) WHERE ended_at IS NOT NULL;
ALTER TABLE audit ADD COLUMN task_id TEXT NOT NULL DEFAULT '';
ALTER TABLE audit ADD COLUMN result TEXT NOT NULL DEFAULT '';
CREATE INDEX audit_task ON audit(task_id, id) WHERE task_id <> '';
CREATE INDEX audit_result ON audit(result, id) WHERE result <> '' AND action = 'task.end';
`

/** In order; one entry is never edited after a release, only followed by another. */
export const MIGRATIONS: readonly string[] = [
  INITIAL,
  IMAGE_FORMAT,
  CLOCK_POLICY,
  EXPOSURES,
  TENANTS,
  AUDIT_WHO,
  TRUST,
  HOST_LIFE,
  VM_EDITS,
  INVARIANTS,
  IMAGE_ORIGIN,
  TASKS_GO_ON,
]
