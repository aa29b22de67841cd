import { chmod, mkdir, unlink } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { dirname } from 'node:path'
import type { Duplex } from 'node:stream'
import { ConnectError, type ConnectRouter, type Interceptor } from '@connectrpc/connect'
import { connectNodeAdapter } from '@connectrpc/connect-node'
import type { Log } from '../../../ipc/base/log.ts'
import { toConnectError } from '../../../ipc/fault-wire.ts'
import { asFault, Fault, findFault } from '../../../ipc/faults.ts'
import { REQUEST_ID_HEADER, TENANT_HEADER } from '../../../ipc/request-headers.ts'
import { LIMITS } from '../../../ipc/units.ts'
import { refuseUpgrade } from '../refuse-upgrade.ts'
import type { AuditEvent } from '../store/audit-store.ts'
import { calledByModel } from './called-by-model.ts'
import { type KnownTenants, principals, requestIdOf, tenantAsked } from './principal.ts'
import { serveStatic } from './static-files.ts'

/** The whole API as plain HTTP handlers: the unix socket and the loopback listener run the same. */
export interface ApiHandler {
  handle(req: IncomingMessage, res: ServerResponse): void
  /** /console only; anything else is refused. Whoever listens has authorised the request. */
  upgrade(req: IncomingMessage, socket: Duplex, head: Buffer): void
}

export interface ApiParts {
  routes(router: ConnectRouter): void
  tenants: KnownTenants
  audit: { add(event: AuditEvent): void }
  console: { upgrade(req: IncomingMessage, socket: Duplex, head: Buffer, tenant: string): void }
  /** Built renderer; undefined = no pages. */
  renderer: string | undefined
  log: Log
}

/** One handler for every listener; it authorises nobody itself. */
export function createApiHandler({ routes, tenants, audit, console, renderer, log }: ApiParts): ApiHandler {
  const adapter = connectNodeAdapter({
    routes,
    interceptors: [faults(log), principals(tenants), calledByModel(audit)],
    readMaxBytes: LIMITS.fleetMessageBytes,
    // docs/openapi.json is made for this: names as in the contracts, plain fields always there.
    jsonOptions: { useProtoFieldName: true, alwaysEmitImplicit: true },
    // Nothing here crosses a network, and a small packed request could unpack to any size.
    acceptCompression: [],
    fallback: (req, res) => void serveStatic(renderer, req as IncomingMessage, res as ServerResponse),
  })
  return {
    handle(req, res) {
      const id = requestIdOf(onlyOne(req.headers[REQUEST_ID_HEADER]))
      req.headers[REQUEST_ID_HEADER] = id
      res.setHeader(REQUEST_ID_HEADER, id)
      adapter(req, res)
    },
    upgrade(req, socket, head) {
      const tenant = consoleTenant(tenants, req)
      if (tenant === undefined) refuseUpgrade(socket, 404)
      else console.upgrade(req, socket, head, tenant)
    },
  }
}

const onlyOne = (value: string | string[] | undefined) => (typeof value === 'string' ? value : undefined)

/** Undefined = not the console, or a tenant that is not there. A browser cannot set headers, so `?tenant=` says it too. */
function consoleTenant(tenants: KnownTenants, req: IncomingMessage): string | undefined {
  const { pathname, searchParams } = new URL(req.url ?? '/', 'http://eitri')
  if (pathname !== '/console') return undefined
  const asked = req.headers[TENANT_HEADER] ?? searchParams.get('tenant') ?? undefined
  try {
    return tenantAsked(tenants, onlyOne(asked))
  } catch {
    return undefined
  }
}

/** Every error of a service leaves as a fault; those nobody foresaw are logged with their stack. */
function faults(log: Log): Interceptor {
  const translated = (method: string, error: unknown) => {
    if (error instanceof ConnectError && !findFault(error)) return error
    const fault = asFault(error)
    if (fault.disposition === 'bug') {
      const stack = String((error instanceof Error && error.stack) || error)
      log.error('api.bug', { method, id: fault.id, stack })
    }
    return toConnectError(fault)
  }
  return (next) => async (req) => {
    const { name } = req.method
    try {
      const response = await next(req)
      if (!response.stream) return response
      const { message } = response
      const guarded = async function* () {
        try {
          yield* message
        } catch (error) {
          throw translated(name, error)
        }
      }
      return { ...response, message: guarded() }
    } catch (error) {
      throw translated(name, error)
    }
  }
}

/** Listens on a 0600 unix socket; a stale one is replaced (whoever calls holds the lock on the data directory). */
export async function listenOnSocket(path: string, handler: ApiHandler): Promise<Server> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  await unlink(path).catch(() => {})
  const server = createServer({ requestTimeout: 0, keepAliveTimeout: 60_000 }, handler.handle)
  server.on('upgrade', handler.upgrade)
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      // Bound within this call: nobody else's files are made under this umask.
      const umask = process.umask(0o177)
      server.listen(path, resolve)
      process.umask(umask)
    })
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error)
    throw new Fault('app/part-missing', 'permanent', { part: `the socket ${path} (${detail})` }, { cause: error })
  }
  await chmod(path, 0o600)
  return server
}
