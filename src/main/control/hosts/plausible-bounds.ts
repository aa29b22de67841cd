import { type DescField, ScalarType } from '@bufbuild/protobuf'

/** Every number a client counts with. */
export const LARGEST = BigInt(Number.MAX_SAFE_INTEGER)

const EXBIBYTE = 2n ** 60n
/** A bit more than three centuries. */
const SECONDS = 10_000_000_000n
/** A hundred years: a clock that fell back to 1970 is off by less. */
const MICROSECONDS = 3_155_760_000_000_000n

/** Most of what a number of this name can be, by the end of the name: no machine there is has more. */
const BY_END: readonly (readonly [string, bigint])[] = [
  ['_bytes', EXBIBYTE],
  ['_bps', EXBIBYTE],
  ['_mb', 2n ** 40n],
  ['_gb', 2n ** 30n],
  ['_s', SECONDS],
  ['_us', MICROSECONDS],
  ['_permille', 8_192_000n],
  ['cpus', 8_192n],
  ['load1', 1_000_000n],
  ['load5', 1_000_000n],
  ['load15', 1_000_000n],
]
/** Of these fields it is another. */
const BY_NAME: Readonly<Record<string, bigint>> = {
  'eitri.agent.v1.HostMetrics.cpu_busy_permille': 1_000n,
  'eitri.agent.v1.HostClock.stratum': 255n,
  'eitri.agent.v1.Progress.step': 1_000n,
  'eitri.agent.v1.Progress.steps': 1_000n,
  'eitri.agent.v1.SessionCounters.active': 2n ** 48n,
  'eitri.agent.v1.SessionCounters.refused': 2n ** 48n,
  'eitri.agent.v1.SessionCounters.dropped': 2n ** 48n,
}

/** Most a field may say; undefined = only what every client can count with bounds it. */
export const mostOf = (field: DescField): bigint | undefined =>
  BY_NAME[`${field.parent.typeName}.${field.name}`] ?? BY_END.find(([end]) => field.name.endsWith(end))?.[1]

const SIGNED: ReadonlySet<ScalarType> = new Set([
  ScalarType.SINT64,
  ScalarType.INT64,
  ScalarType.SFIXED64,
  ScalarType.SINT32,
  ScalarType.INT32,
  ScalarType.SFIXED32,
])

/** Least a field may say where `mostOf` bounds it. */
export const leastOf = (field: DescField, most: bigint): bigint =>
  field.scalar !== undefined && SIGNED.has(field.scalar) ? -most : 0n

/** Messages that mean nothing without each of their numbers: one that cannot be takes the whole with it. */
export const WHOLE: ReadonlySet<string> = new Set([
  'eitri.agent.v1.Capacity',
  'eitri.agent.v1.Progress',
  'eitri.agent.v1.SessionCounters',
])

/** Names, words and versions, shown in one line: no control characters, and no longer than this. */
const NAME_CHARS = 256
const NAMES: ReadonlySet<string> = new Set([
  ...['hostname', 'os', 'platform', 'arch', 'kernel', 'init', 'cpu_model', 'acceleration', 'vmm_version', 'missing'],
  ...['runs_as', 'started_by', 'agent_version', 'provisioner', 'host_networks', 'controller_name', 'boot_id'],
  ...['name', 'kind', 'bridge', 'cidr', 'gateway', 'state', 'source', 'daemon', 'cause', 'means', 'result', 'severity'],
  ...[
    'reason',
    'version',
    'power',
    'phase',
    'ip',
    'network_ip',
    'mac',
    'guest_cidr',
    'host_uplink_addr',
    'address_source',
  ],
  ...['guest_agent', 'guest_agent_version', 'cloud_init', 'stage', 'fleet_payload', 'revocations', 'needs_restart'],
])
/** Sentences: control characters in them become spaces, and their end is cut, without a word. */
export const TEXT_CHARS = 4_096
const TEXTS: ReadonlySet<string> = new Set([
  ...['detail', 'acceleration_detail', 'fleet_payload_detail', 'what', 'effect', 'mend', 'rule', 'notices'],
])

export type Words = 'name' | 'text'

/** How a field of text is held; undefined = it is not shown as it is. */
export function wordsOf(field: DescField): Words | undefined {
  const isText = field.scalar === ScalarType.STRING
  if (!isText || field.fieldKind === 'map') return undefined
  return NAMES.has(field.name) ? 'name' : TEXTS.has(field.name) ? 'text' : undefined
}

// Besides control characters those that turn the direction of what stands around them, and end a line.
const UNSHOWN = /[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]/
const UNSHOWN_IN_TEXT = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]/g

export const isName = (value: string): boolean => value.length <= NAME_CHARS && !UNSHOWN.test(value)

export const asText = (value: string): string => value.slice(0, TEXT_CHARS).replace(UNSHOWN_IN_TEXT, ' ')

/** Quoted, with escapes in the place of what cannot be shown. */
export const quoted = (value: string): string =>
  JSON.stringify(value).replace(
    /[\x7f-\x9f\u2028-\u202e\u2066-\u2069]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
