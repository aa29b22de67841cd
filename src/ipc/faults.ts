/** Every way a thing can fail, `area/what`. A new code needs its words in fault-text.ts: forgetting them does not compile. */
export const FAULT_CODES = [
  'input/invalid',
  'input/too-large',
  'input/unconfirmed',
  'host/not-found',
  'host/name-taken',
  'host/has-vms',
  'host/not-accepting',
  'host/unreachable',
  'host/no-answer',
  'host/newer-data',
  'host/none',
  'host/several',
  'host/local-impossible',
  'host/unsupported',
  'host/packages-missing',
  'host/already-added',
  'host/identity-mismatch',
  'host/disk-full',
  'ssh/host-key-unknown',
  'ssh/host-key-changed',
  'ssh/host-key-revoked',
  'ssh/host-certificate',
  'ssh/auth-refused',
  'ssh/key-unreadable',
  'ssh/passphrase-wrong',
  'ssh/sudo-refused',
  'ssh/config-invalid',
  'ssh/unsupported',
  'ssh/protocol',
  'ssh/lost',
  'ssh/code-needed',
  'ssh/not-now',
  'ssh/no-shell',
  'ssh/sessions-refused',
  'agent/missing',
  'agent/not-running',
  'agent/several',
  'agent/already-running',
  'agent/identity-damaged',
  'agent/identity-newer',
  'agent/state-unusable',
  'agent/version-skew',
  'agent/foreign-controller',
  'agent/superseded',
  'agent/auth-rejected',
  'agent/install-failed',
  'agent/remove-failed',
  'agent/misbehaved',
  'agent/cannot',
  'agent/too-old',
  'agent/upgrade-refused',
  'agent/upgrade-rolled-back',
  'agent/join-blob-invalid',
  'agent/join-failed',
  'host/token-refused',
  'host/own-key-unusable',
  'host/revoked',
  'host/credential-ended',
  'vm/not-found',
  'vm/name-taken',
  'vm/ambiguous',
  'vm/deleted',
  'vm/not-deleted',
  'vm/unowned',
  'vm/create-failed',
  'vm/create-cut-short',
  'vm/start-failed',
  'vm/stop-failed',
  'vm/destroy-failed',
  'vm/exited',
  'vm/powered-off',
  'vm/crash-loop',
  'vm/hung',
  'vm/panicked',
  'vm/io-error',
  'vm/resetting',
  'vm/over-capacity',
  'vm/too-large',
  'vm/waiting',
  'vm/record-unreadable',
  'vm/network-full',
  'vm/network-unknown',
  'vm/network-failed',
  'vm/protected',
  'vm/not-stopped',
  'vm/clone-source-gone',
  'vmm/missing',
  'vmm/failed',
  'vmm/machine-gone',
  'image/not-found',
  'image/name-taken',
  'image/none-default',
  'image/in-use',
  'image/digest-mismatch',
  'image/unreachable',
  'image/format',
  'image/too-big-for-disk',
  'image/push-failed',
  'image/build-impossible',
  'image/build-failed',
  'image/import-impossible',
  'image/import-failed',
  'image/not-in-catalogue',
  'image/publisher-silent',
  'image/list-unusable',
  'image/not-as-published',
  'image/no-room',
  'port/taken',
  'port/none-free',
  'port/not-found',
  'port/no-way',
  'port/not-taken',
  'port/too-many',
  'port/broken',
  'clock/not-set',
  'clock/left-alone',
  'clock/not-running',
  'network/not-mendable',
  'network/mend-failed',
  'cloud-init/invalid',
  'console/unavailable',
  'console/read-only',
  'ca/none',
  'ca/not-found',
  'ca/ambiguous',
  'ca/name-taken',
  'ca/key-taken',
  'ca/held-elsewhere',
  'ca/key-unusable',
  'ca/key-removed',
  'ca/needed',
  'ca/too-many',
  'certificate/none',
  'certificate/not-found',
  'certificate/of-host',
  'certificate/too-many-revoked',
  'tenant/not-found',
  'tenant/name-taken',
  'tenant/over-quota',
  'template/not-found',
  'template/name-taken',
  'template/no-image',
  'task/not-found',
  'task/wrong-question',
  'task/interrupted',
  'task/not-cancelled',
  'store/conflict',
  'store/unavailable',
  'store/read-only',
  'store/newer',
  'store/not-migrated',
  'store/not-damaged',
  'store/not-restored',
  'store/not-backed-up',
  'support/not-written',
  'support/preview-over',
  'app/not-running',
  'app/already-running',
  'app/part-missing',
  'app/timeout',
  'app/cancelled',
  'app/bug',
] as const
export type FaultCode = (typeof FAULT_CODES)[number]

export const DISPOSITIONS = ['transient', 'permanent', 'conflict', 'cancelled', 'bug'] as const
export type Disposition = (typeof DISPOSITIONS)[number]

/** A fault as plain data: what crosses a process boundary. `params` never hold secrets. */
export interface FaultData {
  code: FaultCode
  disposition: Disposition
  params: Record<string, string>
  retryAfterMs?: number
  id: string
}

/** People give a private key where something else is asked for: no fault says it again. */
const withoutKeys = (params: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(params).map(([name, text]) => [name, text.replace(/-----BEGIN[\s\S]*/, '')]))

/** The one error type that crosses module boundaries; `cause` stays local. */
export class Fault extends Error {
  override readonly name = 'Fault'
  readonly code: FaultCode
  readonly disposition: Disposition
  readonly params: Record<string, string>
  readonly retryAfterMs: number | undefined
  readonly id: string

  constructor(
    code: FaultCode,
    disposition: Disposition,
    params: Record<string, string> = {},
    options: { cause?: unknown; retryAfterMs?: number; id?: string } = {},
  ) {
    const kept = withoutKeys(params)
    super(`${code} ${JSON.stringify(kept)}`, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.disposition = disposition
    this.params = kept
    this.retryAfterMs = options.retryAfterMs
    this.id = options.id ?? crypto.randomUUID().slice(0, 8)
  }

  toData(): FaultData {
    const { code, disposition, params, id } = this
    return {
      code,
      disposition,
      params,
      id,
      ...(this.retryAfterMs === undefined ? {} : { retryAfterMs: this.retryAfterMs }),
    }
  }
}

/** The fault inside an error, through any depth of `cause`; undefined when there is none. */
export function findFault(error: unknown): Fault | undefined {
  for (let e = error, depth = 0; e instanceof Error && depth < 8; e = e.cause, depth++) if (e instanceof Fault) return e
  return undefined
}

/** Any error as a fault: its own, `app/cancelled` for an abort, else `app/bug` with the message kept as a param. */
export function asFault(error: unknown): Fault {
  const fault = findFault(error)
  if (fault) return fault
  if (error instanceof Error && error.name === 'AbortError')
    return new Fault('app/cancelled', 'cancelled', {}, { cause: error })
  const message = (error instanceof Error ? error.message : String(error)).slice(0, 300)
  return new Fault('app/bug', 'bug', { message }, { cause: error })
}

const CODES: ReadonlySet<string> = new Set(FAULT_CODES)

/** A fault from the wire; a code this build does not know becomes `app/bug` that names it. */
export function faultFromData(data: {
  code: string
  disposition: string
  params: Record<string, string>
  retryAfterMs?: bigint | number | undefined
  id: string
}): Fault {
  const known = CODES.has(data.code)
  const disposition = (DISPOSITIONS as readonly string[]).includes(data.disposition)
    ? (data.disposition as Disposition)
    : 'bug'
  return new Fault(
    known ? (data.code as FaultCode) : 'app/bug',
    disposition,
    known ? data.params : { ...data.params, message: `unknown fault ${data.code}` },
    { id: data.id, ...(data.retryAfterMs === undefined ? {} : { retryAfterMs: Number(data.retryAfterMs) }) },
  )
}

/** For the end of a switch over a closed union. */
export function assertNever(value: never): never {
  throw new Fault('app/bug', 'bug', { message: `unexpected ${JSON.stringify(value)}` })
}
