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

/** In order; one entry is never edited after a release, only followed by another. */
export const MIGRATIONS: readonly string[] = [INITIAL, IMAGE_FORMAT, CLOCK_POLICY, EXPOSURES]
