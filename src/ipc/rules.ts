import { z } from 'zod'
import { AUDIT_RESULTS } from './audit-results.ts'
import { CLOCK_POLICIES } from './clock-policy.ts'
import { Fault } from './faults.ts'
import { isFingerprint, isId, isName, isSha256, NAME_RULE } from './names.ts'
import { SYSTEM_TENANT } from './request-headers.ts'
import { TRUST_RULES } from './rules-trust.ts'
import { LIMITS } from './units.ts'

const empty = z.literal('')
const name = z.string().refine(isName, NAME_RULE)
const fingerprint = z.string().refine(isFingerprint, 'use a fingerprint as ssh prints it: SHA256:…')
const nameOrId = z.string().min(1, 'name it').max(64, 'longer than any name')
const sha256 = z.string().refine(isSha256, 'invalid image_sha256: 64 lower-case hex characters are needed')
const port = z.number().int().min(1, 'ports start at 1').max(65535, 'ports end at 65535')
const oneLine = (max: number) =>
  z
    .string()
    .max(max)
    .regex(/^[^\0-\x1f\x7f]*$/, 'control characters are not allowed')
const url = z
  .string()
  .max(2048)
  .refine((u) => /^https?:\/\//.test(u) && URL.canParse(u), 'use an http or https URL')
const floor = (what: string, max: number) =>
  z.number().int('use a whole number').min(1, `${what} must be at least 1`).max(max, `${what} must be at most ${max}`)

const vcpus = floor('vcpus', 256)
const memMb = floor('mem_mb', 4 * 1024 * 1024)
const diskGb = floor('disk_gb', 65536)
const clockPolicy = z.enum(['', ...CLOCK_POLICIES], `one of ${CLOCK_POLICIES.join(', ')}`).default('')

const quota = (what: string) =>
  z
    .number()
    .int(`use a whole number for ${what}`)
    .min(0)
    .max(2 ** 31 - 1, `${what} is too large`)
    .optional()
const tenantLimits = z.object({
  maxVms: quota('max_vms'),
  maxVcpus: quota('max_vcpus'),
  maxMemMb: quota('max_mem_mb'),
  maxDiskGb: quota('max_disk_gb'),
  graceS: z
    .number()
    .int()
    .min(0)
    .max(365 * 86_400, 'grace_s must be at most a year')
    .optional(),
})

/** A host part of `[user@]host[:port]`: nothing that ssh could take for an option or a shell for a command. */
const sshHost = z
  .string()
  .min(1, 'name a host')
  .max(255)
  .regex(/^[A-Za-z0-9_[][A-Za-z0-9._:\]%-]*$/, 'use a host name, an address or a name from your ssh configuration')

/** Bounds of a VM's place among those its host starts by itself. */
export const AUTOSTART = { maxDelayS: 3600, maxOrder: 10_000 } as const
const MAX_LABELS = 64

const autostartDelayS = z.number().int().min(0).max(AUTOSTART.maxDelayS, 'a delay is at most 3600 seconds')
const autostartOrder = z.number().int().min(0).max(AUTOSTART.maxOrder, 'an order is at most 10000')
const labelKey = z
  .string()
  .min(1)
  .max(63)
  .regex(/^[A-Za-z0-9._/-]+$/, 'letters, digits and ._/- only')
const labels = z
  .record(labelKey, oneLine(255))
  .refine((all) => Object.keys(all).length <= MAX_LABELS, `at most ${MAX_LABELS} labels`)
const power = z.enum(['running', 'stopped'], 'running or stopped')

/** 0 = as it is. */
const orAsItIs = (size: z.ZodType<number, number>) => z.union([z.literal(0), size])

/** Sizes a VM gets where neither the request nor its image names one. */
export const DEFAULT_SIZE = { vcpus: 1, memMb: 512, diskGb: 10 } as const

/** One schema per request message, applied after defaults. The same rules serve the API, the CLI and the forms. */
export const rules = {
  ...TRUST_RULES,
  createVm: z
    .object({
      name,
      host: z.union([empty, nameOrId]),
      image: z.union([empty, nameOrId]),
      imageUrl: z.union([empty, url]),
      imageSha256: z.union([empty, sha256]),
      vcpus,
      memMb,
      diskGb,
      cloudInit: z
        .instanceof(Uint8Array)
        .refine((b) => b.length <= LIMITS.cloudInitBytes, 'user-data is larger than 64 KiB'),
      sshAuthorizedKeys: z
        .array(
          z
            .string()
            .max(16384)
            .regex(
              /^(ssh-|ecdsa-|sk-)[a-z0-9@.-]+ [A-Za-z0-9+/=]+( [^\0-\x1f\x7f]*)?$/,
              'not an OpenSSH public key line',
            ),
        )
        .max(32, 'at most 32 keys'),
      network: z.union([empty, name]),
      backend: z.enum(['', 'qemu', 'cloud-hypervisor', 'vfkit'], 'qemu, cloud-hypervisor or vfkit'),
      power,
      labels,
      autostartDelayS: autostartDelayS.default(0),
      autostartOrder: autostartOrder.default(0),
      template: z.union([empty, nameOrId]).default(''),
      clockPolicy,
      vmId: z.union([empty, z.string().refine(isId, 'use 32 lower-case hex characters')]),
    })
    .refine((r) => (r.imageUrl === '') === (r.imageSha256 === ''), {
      path: ['imageSha256'],
      error: 'image_url and image_sha256 go together: give both or neither',
    })
    .refine((r) => r.image === '' || r.imageUrl === '', { path: ['image'], error: 'give an image or a URL, not both' }),
  addHost: z.object({ name }),
  signInHost: z.object({
    password: z.string().max(1024),
    passphrase: z.string().max(1024),
    sudoPassword: z.string().max(1024),
  }),
  sshWay: z.object({
    host: sshHost,
    port: port.optional(),
    user: oneLine(64).regex(/^([A-Za-z0-9_][A-Za-z0-9_.@\\-]*)?$/, 'not a login name'),
    identityFile: oneLine(4096),
    jump: oneLine(2048).default(''),
    acceptHostKey: z.union([empty, fingerprint]),
    password: z.string().max(1024),
    sudoPassword: z.string().max(1024),
    passphrase: z.string().max(1024),
  }),
  addImage: z
    .object({
      name,
      url,
      sha256,
      arch: z.enum(['x86_64', 'aarch64'], 'x86_64 or aarch64'),
      kind: z.enum(['disk', 'kernel'], 'disk or kernel'),
      format: z.enum(['', 'qcow2', 'raw'], 'qcow2 or raw').default(''),
    })
    .refine((r) => r.kind === 'disk' || r.format === '', { path: ['format'], error: 'only a disk has a format' }),
  /** What a host says of a VM it has; the names and sizes must be such as can be asked for. */
  adoptedVm: z.object({
    name,
    vcpus,
    memMb,
    diskGb,
    network: z.union([empty, name]),
    backend: oneLine(64),
    imageUrl: z.union([empty, url]),
    imageSha256: z.union([empty, sha256]),
  }),
  vmRef: z.object({ vm: nameOrId }),
  updateVm: z.object({
    vm: nameOrId,
    clockPolicy,
    vcpus: orAsItIs(vcpus).default(0),
    memMb: orAsItIs(memMb).default(0),
    diskGb: orAsItIs(diskGb).default(0),
    labels: labels.default({}),
    removeLabels: z.array(labelKey).max(MAX_LABELS, `at most ${MAX_LABELS} labels`).default([]),
    protected: z.boolean().optional(),
    autostart: z.boolean().optional(),
    autostartDelayS: autostartDelayS.optional(),
    autostartOrder: autostartOrder.optional(),
    name: z.union([empty, name]).default(''),
  }),
  /** What is left of a VM's labels once some are set and others taken away. */
  allLabels: z.object({ labels }),
  cloneVm: z.object({
    vm: nameOrId,
    name: z.union([empty, name]),
    vcpus: orAsItIs(vcpus),
    memMb: orAsItIs(memMb),
    diskGb: orAsItIs(diskGb),
    power,
  }),
  createTemplate: z.object({ name, vm: nameOrId, description: oneLine(500) }),
  templateRef: z.object({ template: nameOrId }),
  importImage: z.object({
    name,
    path: z
      .string()
      .min(1, 'name a file')
      .max(4096)
      .refine((path) => !path.includes('\0'), 'not a path'),
    arch: z.enum(['x86_64', 'aarch64'], 'x86_64 or aarch64'),
  }),
  undeleteVm: z.object({ vm: nameOrId, newName: z.union([empty, name]) }),
  adoptVm: z.object({ vm: nameOrId, newName: z.union([empty, name]) }),
  hostRef: z.object({ host: nameOrId }),
  getHistory: z
    .object({
      host: z.union([empty, nameOrId]),
      vm: z.union([empty, nameOrId]),
      spanS: z.number().int().min(0).max(86_400, 'a day is kept: use at most 86400'),
      samples: z
        .number()
        .int()
        .max(1_440, 'use at most 1440')
        .refine((n) => n !== 1, 'use at least 2'),
    })
    .refine((r) => (r.host === '') !== (r.vm === ''), { path: ['host'], error: 'name a host or a VM, and not both' }),
  updateHost: z.object({
    host: nameOrId,
    name: z.union([empty, name]),
    labels,
    removeLabels: z.array(labelKey).max(MAX_LABELS, `at most ${MAX_LABELS} labels`),
  }),
  createJoinBlob: z.object({
    expiresS: z
      .number()
      .int()
      .min(60, 'a join blob is good for at least 60 seconds')
      .max(86_400, 'a join blob is good for at most 86400 seconds'),
  }),
  mendNetwork: z.object({ host: nameOrId, findingId: oneLine(64).min(1, 'name the finding'), undo: z.boolean() }),
  acceptHostKey: z.object({ host: nameOrId, fingerprint }),
  addCatalogueImage: z.object({ name }),
  imageRef: z.object({ image: nameOrId }),
  publishPort: z.object({
    vm: nameOrId,
    guestPort: port,
    hostPort: z.number().int().min(0, 'ports start at 1').max(65535, 'ports end at 65535'),
    protocol: z.enum(['tcp', 'udp'], 'tcp or udp'),
    scope: z.enum(['lan', 'loopback'], 'lan or loopback'),
  }),
  auditFilter: z.object({
    vm: oneLine(64),
    host: oneLine(64),
    action: oneLine(64).regex(/^([a-z_-]+\.[a-z_-]*)?$/, 'use noun.verb, or noun. for all of a noun'),
    requestId: oneLine(64),
    result: z.enum(['', ...AUDIT_RESULTS], `use one of ${AUDIT_RESULTS.join(', ')}`),
  }),
  auditPage: z.object({ beforeId: z.string().regex(/^(\d{1,15})?$/, 'use the id of an entry') }),
  auditRetention: z.object({
    days: z.number().int().min(0).max(36_500, 'use at most 36500 days; 0 = for ever').optional(),
  }),
  createTenant: z.object({
    name: name.refine((n) => n !== SYSTEM_TENANT, 'the app keeps this name for itself'),
    limits: tenantLimits,
  }),
  updateTenant: z.object({
    name,
    limits: tenantLimits,
    lift: z.array(
      z.enum(['max_vms', 'max_vcpus', 'max_mem_mb', 'max_disk_gb', 'grace_s'], 'name a limit, e.g. max_vms'),
    ),
  }),
  portRef: z.object({ id: z.string().refine(isId, 'use the id of a published port, 32 hex characters') }),
} as const

export type RuleName = keyof typeof rules
export type Checked<N extends RuleName> = z.infer<(typeof rules)[N]>

export interface Problem {
  /** snake_case field, as on the wire and the command line. */
  field: string
  problem: string
}

const snake = (field: string) => field.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`)

/** Words of zod's own, where a rule has none. */
const ZODS = /^(Too (big|small)|Invalid|Expected|Unrecognized)\b/

/** Of a key in a record its own words, which zod keeps below. */
function messageOf(issue: z.core.$ZodIssue): string {
  const below = issue.code === 'invalid_key' ? issue.issues[0] : undefined
  const { message } = below ?? issue
  return ZODS.test(message) ? boundWords(issue) : message
}

function wantsNumber(issue: z.core.$ZodIssue): boolean {
  if (issue.code === 'invalid_type') return ['number', 'int'].includes(issue.expected)
  return issue.code === 'invalid_union' && issue.errors.some((below) => below.some(wantsNumber))
}

function boundWords(issue: z.core.$ZodIssue): string {
  if (wantsNumber(issue)) return 'use a whole number'
  if (issue.code !== 'too_big' && issue.code !== 'too_small') return 'it cannot be read as what it has to be'
  const bound = issue.code === 'too_big' ? `at most ${issue.maximum}` : `at least ${issue.minimum}`
  const of =
    issue.origin === 'string' ? ' characters' : ['array', 'set', 'map'].includes(issue.origin) ? ' of them' : ''
  return `${bound}${of}`
}

/** Every problem of a request, none when it is fine. For forms, which show them beside the fields. */
export function problemsOf(rule: RuleName, value: unknown): Problem[] {
  const result = rules[rule].safeParse(value)
  if (result.success) return []
  return result.error.issues.map((i) => ({ field: snake(String(i.path[0] ?? '')), problem: messageOf(i) }))
}

/** The request's checked fields; raises `input/invalid` naming the first wrong one. */
export function check<N extends RuleName>(rule: N, value: unknown): Checked<N> {
  const result = rules[rule].safeParse(value)
  if (result.success) return result.data as Checked<N>
  const [first] = problemsOf(rule, value)
  const raw = (value as Record<string, unknown>)[String(result.error.issues[0]?.path[0] ?? '')]
  throw new Fault('input/invalid', 'permanent', {
    field: first?.field ?? '',
    problem: first?.problem ?? 'not valid',
    value:
      typeof raw === 'string' && !/password|passphrase|private|secret|token|blob/.test(first?.field ?? '')
        ? raw.slice(0, 80)
        : '',
  })
}
