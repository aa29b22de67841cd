const KEPT_SENT = 64
const oneOf = (column: string, words: readonly string[]) =>
  `NEW.${column} IN (${words.map((w) => `'${w}'`).join(', ')})`
const flags = (...columns: string[]) => columns.map((column) => `NEW.${column} IN (0, 1)`).join(' AND ')
const json = (...columns: string[]) =>
  columns.map((column) => `(NEW.${column} IS NULL OR json_valid(NEW.${column}))`).join(' AND ')

/**
 * What holds for every row of a table whatever wrote it, as SQL over NEW. Also what an opened file is held against: a
 * row of an older version must satisfy it too.
 */
export const SOUND_ROWS: Readonly<Record<string, readonly (readonly [rule: string, words: string])[]>> = {
  hosts: [
    [oneOf('kind', ['local', 'ssh']), 'a host is local or reached by ssh'],
    [oneOf('status', ['enrolled', 'decommissioning']), 'a host is enrolled or decommissioning'],
    [json('ssh', 'facts', 'capacity', 'labels'), 'ssh, facts, capacity and labels of a host are JSON'],
    ["NEW.tenant <> 'system'", 'nothing lives in the system tenant'],
  ],
  vms: [
    [oneOf('power_state', ['running', 'stopped']), 'a VM is wanted running or stopped'],
    [oneOf('status', ['', 'ready', 'failed']), 'the last state of a VM is ready or failed'],
    [oneOf('image_kind', ['disk', 'kernel']), 'an image is a disk or a kernel'],
    [oneOf('image_format', ['', 'qcow2', 'raw']), 'a disk is qcow2 or raw'],
    [
      oneOf('clock_policy', ['auto', 'host-only', 'network', 'none', 'windows-standalone', 'windows-domain']),
      'a clock has one of the known policies',
    ],
    [flags('force_stop', 'autostart', 'protected', 'host_cert_required'), 'flags of a VM are 0 or 1'],
    ['NEW.restart_count >= 0', 'restarts are counted from 0'],
    [
      json('labels', 'ssh_authorized_keys', 'trusted_cas', 'injected_key'),
      'labels, keys and authorities of a VM are JSON',
    ],
    ["NEW.tenant <> 'system'", 'nothing lives in the system tenant'],
  ],
  images: [
    [oneOf('kind', ['disk', 'kernel']), 'an image is a disk or a kernel'],
    [oneOf('format', ['', 'qcow2', 'raw']), 'a disk is qcow2 or raw'],
    [oneOf('arch', ['x86_64', 'aarch64']), 'an image is for a known architecture'],
    [flags('is_default'), 'an image is the default or is not'],
  ],
  tasks: [
    [oneOf('state', ['running', 'asking', 'done', 'failed', 'cancelled']), 'a task has one of the known states'],
    [
      "(NEW.ended_at IS NULL) = (NEW.state IN ('running', 'asking'))",
      'a task that ended has an end, and no other has one',
    ],
    [json('steps', 'fault', 'question'), 'steps and fault of a task are JSON'],
  ],
  audit: [[json('detail', 'before', 'after'), 'details of an audit entry are JSON']],
  templates: [
    [json('spec'), 'the spec of a template is JSON'],
    ["NEW.tenant <> 'system'", 'nothing lives in the system tenant'],
  ],
  cas: [["NEW.tenant <> 'system'", 'nothing lives in the system tenant']],
  certificates: [[json('principals'), 'principals of a certificate are JSON']],
}

/** The append-only trail already refuses every update. */
const TIMES: Readonly<Record<string, readonly string[]>> = { audit: ['INSERT'] }

const refuse = (name: string, when: string, words: string) => `
CREATE TRIGGER ${name} ${when}
BEGIN SELECT RAISE(ABORT, '${words}'); END;`

const SOUND = Object.entries(SOUND_ROWS).flatMap(([table, rules]) =>
  rules.flatMap(([rule, words], index) =>
    (TIMES[table] ?? ['INSERT', 'UPDATE']).map((when) =>
      refuse(`${table}_sound_${when.toLowerCase()}_${index}`, `BEFORE ${when} ON ${table} WHEN NOT (${rule})`, words),
    ),
  ),
)

const LASTING = [
  refuse(
    'settings_fleet_stays',
    "BEFORE UPDATE ON settings WHEN OLD.key = 'fleet_id' AND (NEW.key, NEW.value) IS NOT (OLD.key, OLD.value)",
    'a fleet keeps its id',
  ),
  refuse('settings_fleet_is_kept', "BEFORE DELETE ON settings WHEN OLD.key = 'fleet_id'", 'a fleet keeps its id'),
  refuse(
    'tenants_stay',
    "BEFORE DELETE ON tenants WHEN OLD.name IN ('default', 'system')",
    'the default and the system tenant stay',
  ),
  refuse(
    'hosts_stay',
    'BEFORE UPDATE ON hosts WHEN (OLD.id, OLD.tenant) IS NOT (NEW.id, NEW.tenant)',
    'a host keeps its id and tenant',
  ),
  refuse(
    'hosts_epochs',
    'BEFORE UPDATE ON hosts WHEN NEW.epoch < OLD.epoch OR NEW.sent_epoch < OLD.sent_epoch',
    'epochs never fall',
  ),
  refuse(
    'hosts_sent',
    'BEFORE UPDATE ON hosts WHEN NEW.sent_epoch > NEW.epoch',
    'only an epoch that is there can be sent',
  ),
  refuse(
    'hosts_content',
    `BEFORE UPDATE ON hosts WHEN NEW.sent_epoch = OLD.sent_epoch AND OLD.sent_digest <> ''
      AND NEW.sent_digest NOT IN ('', OLD.sent_digest)`,
    'one epoch has one content',
  ),
  refuse(
    'vms_stay',
    'BEFORE UPDATE ON vms WHEN (OLD.id, OLD.host_id, OLD.tenant, OLD.created_at) IS NOT (NEW.id, NEW.host_id, NEW.tenant, NEW.created_at)',
    'a VM keeps its id, host and tenant',
  ),
  refuse(
    'vms_of_their_host',
    'BEFORE INSERT ON vms WHEN NEW.tenant <> (SELECT tenant FROM hosts WHERE id = NEW.host_id)',
    'a VM is of the tenant of its host',
  ),
  ...['INSERT', 'UPDATE'].map((when) =>
    refuse(
      `vms_grace_${when.toLowerCase()}`,
      `BEFORE ${when} ON vms WHEN (NEW.deleted_at IS NULL) <> (NEW.grace_s IS NULL) OR NEW.grace_s < 0`,
      'a deleted VM has a grace, and no other has one',
    ),
  ),
  refuse(
    'vms_leave_by_deletion',
    'BEFORE DELETE ON vms WHEN OLD.deleted_at IS NULL AND EXISTS (SELECT 1 FROM hosts WHERE id = OLD.host_id)',
    'only a deleted VM is removed, or all with their host',
  ),
  refuse(
    'exposures_of_their_vm',
    `BEFORE INSERT ON exposures WHEN NOT EXISTS (SELECT 1 FROM vms WHERE id = NEW.vm_id AND host_id = NEW.host_id
      AND tenant = NEW.tenant AND deleted_at IS NULL)`,
    'a port is published for a VM that is there, on its host',
  ),
  refuse('exposures_stay', 'BEFORE UPDATE ON exposures', 'a published port is not changed, only taken back'),
  refuse(
    'images_in_use',
    `BEFORE DELETE ON images WHEN EXISTS (SELECT 1 FROM vms WHERE image_sha256 = OLD.sha256)
      AND NOT EXISTS (SELECT 1 FROM images WHERE sha256 = OLD.sha256 AND id <> OLD.id)`,
    'an image that VMs need stays',
  ),
  refuse(
    'tasks_end_once',
    `BEFORE UPDATE ON tasks WHEN OLD.ended_at IS NOT NULL
      AND (OLD.state, OLD.ended_at, OLD.kind, OLD.tenant) IS NOT (NEW.state, NEW.ended_at, NEW.kind, NEW.tenant)`,
    'a task that ended stays as it ended',
  ),
]

/** Of the newest epochs sent to a host, what was sent: two copies of a store may send different things under one epoch. */
const SENT = `
CREATE TABLE sent_snapshots (
  host_id TEXT NOT NULL REFERENCES hosts(id) ON DELETE CASCADE,
  epoch INTEGER NOT NULL,
  digest TEXT NOT NULL,
  PRIMARY KEY (host_id, epoch)
) STRICT;
CREATE TRIGGER hosts_sent_what AFTER UPDATE OF sent_epoch, sent_digest ON hosts
WHEN (OLD.sent_epoch, OLD.sent_digest) IS NOT (NEW.sent_epoch, NEW.sent_digest)
BEGIN
  INSERT OR REPLACE INTO sent_snapshots (host_id, epoch, digest) VALUES (NEW.id, NEW.sent_epoch, NEW.sent_digest);
  DELETE FROM sent_snapshots WHERE host_id = NEW.id AND epoch <= NEW.sent_epoch - ${KEPT_SENT};
END;
CREATE TRIGGER hosts_sent_nothing AFTER INSERT ON hosts
BEGIN INSERT INTO sent_snapshots (host_id, epoch, digest) VALUES (NEW.id, NEW.sent_epoch, NEW.sent_digest); END;
INSERT INTO sent_snapshots (host_id, epoch, digest) SELECT id, sent_epoch, sent_digest FROM hosts WHERE sent_epoch > 0;`

const TOLD = `
CREATE TRIGGER vms_image_format AFTER UPDATE OF image_format ON vms WHEN OLD.image_format IS NOT NEW.image_format
BEGIN UPDATE hosts SET epoch = epoch + 1 WHERE id = NEW.host_id; END;`

/** What callers used to promise. */
export const INVARIANTS = [...LASTING, ...SOUND, TOLD, SENT].join('\n')
