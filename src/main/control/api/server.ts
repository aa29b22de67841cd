import { chmod, mkdir, unlink } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { dirname } from 'node:path'
import type { Duplex } from 'node:stream'
import { ConnectError, type ConnectRouter, type Interceptor } from '@connectrpc/connect'
import { connectNodeAdapter } from '@connectrpc/connect-node'
import type { Log } from '../../../ipc/base/log.ts'
import { NOTHING } from '../../../ipc/fault-parts.ts'
import { faultLine, printable } from '../../../ipc/fault-text.ts'
import { toConnectError } from '../../../ipc/fault-wire.ts'
import { asFault, Fault, findFault } from '../../../ipc/faults.ts'
import { REQUEST_ID_HEADER } from '../../../ipc/request-headers.ts'
import { TUNNEL_PATH } from '../../../ipc/tunnel-frames.ts'
import { LIMITS } from '../../../ipc/units.ts'
import { refuseUpgrade } from '../refuse-upgrade.ts'
import { actingAs } from '../store/actor.ts'
import type { AuditEvent } from '../store/audit-store.ts'
import type { Damage } from '../store/database.ts'
import { calledByModel } from './called-by-model.ts'
import { type KnownTenants, onlyOne, principalOfUpgrade, principals, requestIdOf } from './principal.ts'
import { whileDamaged } from './read-only.ts'
import { PAGE_HEADERS, serveStatic } from './static-files.ts'

/** The whole API as plain HTTP handlers: the unix socket and the loopback listener run the same. */
export interface ApiHandler {
  handle(req: IncomingMessage, res: ServerResponse): void
  /** /console and /tunnel; anything else is refused. Whoever listens has authorised the request. */
  upgrade(req: IncomingMessage, socket: Duplex, head: Buffer): void
}

interface Upgradable {
  upgrade(req: IncomingMessage, socket: Duplex, head: Buffer, tenant: string): void
}

export interface ApiParts {
  routes(router: ConnectRouter): void
  tenants: KnownTenants
  /** While its file is damaged, calls that change something are refused. */
  store: { readonly damage: Damage | undefined }
  audit: { add(event: AuditEvent): void }
  console: Upgradable
  /** Not for browsers. */
  tunnel: Upgradable
  /** Built renderer; undefined = no pages. */
  renderer: string | undefined
  log: Log
}

/** One handler for every listener; it authorises nobody itself. */
export function createApiHandler(parts: ApiParts): ApiHandler {
  const { routes, tenants, store, audit, renderer, log } = parts
  const adapter = connectNodeAdapter({
    routes,
    interceptors: [faults(log), principals(tenants), whileDamaged(store), calledByModel(audit)],
    readMaxBytes: LIMITS.fleetMessageBytes,
    // docs/openapi.json is made for this: names as in the contracts, plain fields always there.
    jsonOptions: { useProtoFieldName: true, alwaysEmitImplicit: true, ignoreUnknownFields: false },
    // Nothing here crosses a network, and a small packed request could unpack to any size.
    acceptCompression: [],
    fallback: (request, response) => {
      const [req, res] = [request as IncomingMessage, response as ServerResponse]
      if (req.url?.startsWith('/eitri.')) noSuchCall(req.url, res)
      else void serveStatic(renderer, req, res)
    },
  })
  return {
    handle(req, res) {
      const id = requestIdOf(onlyOne(req.headers[REQUEST_ID_HEADER]))
      req.headers[REQUEST_ID_HEADER] = id
      res.setHeader(REQUEST_ID_HEADER, id)
      adapter(req, res)
    },
    upgrade(req, socket, head) {
      try {
        const { pathname, searchParams } = new URL(req.url ?? '/', 'http://eitri')
        const endpoint = upgradable(parts, req, pathname)
        if (!endpoint) return refuseUpgrade(socket, 404)
        const principal = principalOfUpgrade(tenants, req, searchParams.get('tenant'))
        actingAs(principal, () => endpoint.upgrade(req, socket, head, principal.tenant))
      } catch {
        // No URL, or a tenant that is not there.
        refuseUpgrade(socket, 404)
      }
    },
  }
}

/** As errors of calls are; a path under the name of the contracts is never a page. */
function noSuchCall(url: string, res: ServerResponse): void {
  const message = `There is no call ${printable(url.slice(1, 200))}. ${NOTHING} docs/openapi.json has those there are.`
  res.writeHead(404, { ...PAGE_HEADERS, 'content-type': 'application/json' })
  res.end(JSON.stringify({ code: 'unimplemented', message }))
}

/** A page has no business with ports of guests. */
function upgradable({ console, tunnel }: ApiParts, req: IncomingMessage, pathname: string): Upgradable | undefined {
  if (pathname === '/console') return console
  return pathname === TUNNEL_PATH && req.headers.origin === undefined ? tunnel : undefined
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
    return toConnectError(fault, ({ code, params }) => faultLine(code, params))
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
