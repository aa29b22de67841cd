import type { IncomingMessage } from 'node:http'
import { userInfo } from 'node:os'
import { type ContextValues, createContextKey, type HandlerContext, type Interceptor } from '@connectrpc/connect'
import { Fault } from '../../../ipc/faults.ts'
import { isName } from '../../../ipc/names.ts'
import {
  CLIENT_HEADER,
  CLIENTS,
  type ClientKind,
  DEFAULT_TENANT,
  REQUEST_ID_HEADER,
  SYSTEM_TENANT,
  TENANT_HEADER,
} from '../../../ipc/request-headers.ts'
import { type Actor, actingAs } from '../store/actor.ts'

/** Who asks. A handler sees and names only what is of this tenant. */
export interface Principal extends Actor {
  readonly tenant: string
  readonly user: string
  readonly client: ClientKind
  readonly requestId: string
}

export interface KnownTenants {
  has(name: string): boolean
}

const PRINCIPAL = createContextKey<Principal | undefined>(undefined, { description: 'who asks' })
const REQUEST_ID = /^[\x21-\x7e]{1,64}$/
const SHOWN_CHARS = 64

/** The principal of a request being handled; raises app/bug behind a server that asks nobody who they are. */
export function principalOf({ values }: Pick<HandlerContext, 'values'>): Principal {
  const principal = values.get(PRINCIPAL)
  if (!principal) throw new Fault('app/bug', 'bug', { message: 'a handler without a principal' })
  return principal
}

export const setPrincipal = (values: ContextValues, principal: Principal) => values.set(PRINCIPAL, principal)

/** Names who asks, for handlers and for the audit trail. Raises tenant/not-found. */
export const principals =
  (tenants: KnownTenants): Interceptor =>
  (next) =>
  async (req) => {
    const principal: Principal = {
      tenant: tenantAsked(tenants, req.header.get(TENANT_HEADER) ?? undefined),
      user: osUser(),
      client: clientOf(req.header.get(CLIENT_HEADER)),
      requestId: requestIdOf(req.header.get(REQUEST_ID_HEADER) ?? undefined),
    }
    setPrincipal(req.contextValues, principal)
    return actingAs(principal, () => next(req))
  }

/** Who asks for an upgrade: a browser cannot set headers there, so its query says the tenant too. Raises tenant/not-found. */
export function principalOfUpgrade(
  tenants: KnownTenants,
  { headers }: IncomingMessage,
  inQuery: string | null,
): Principal {
  const only = (name: string) => onlyOne(headers[name])
  return {
    tenant: tenantAsked(tenants, only(TENANT_HEADER) ?? inQuery ?? undefined),
    user: osUser(),
    client: clientOf(only(CLIENT_HEADER) ?? null),
    requestId: requestIdOf(only(REQUEST_ID_HEADER)),
  }
}

/** A header that was sent twice is none. */
export const onlyOne = (value: string | string[] | undefined): string | undefined =>
  typeof value === 'string' ? value : undefined

/** Absent = the default one. Empty, malformed, unknown and the system's own raise tenant/not-found alike. */
function tenantAsked(tenants: KnownTenants, asked: string | undefined): string {
  const tenant = asked ?? DEFAULT_TENANT
  if (isName(tenant) && tenant !== SYSTEM_TENANT && tenants.has(tenant)) return tenant
  throw new Fault('tenant/not-found', 'permanent', { tenant: tenant.slice(0, SHOWN_CHARS) })
}

/** The one given when it is up to 64 visible ASCII characters, else a new one. */
export const requestIdOf = (given: string | undefined): string =>
  given !== undefined && REQUEST_ID.test(given) ? given : crypto.randomUUID()

const clientOf = (given: string | null): ClientKind => CLIENTS.find((client) => client === given) ?? 'api'

let user: string | undefined

/** Who runs this process; its number where that has no name. */
function osUser(): string {
  try {
    user ??= userInfo().username
  } catch {
    user ??= String(process.getuid?.() ?? '')
  }
  return user
}
