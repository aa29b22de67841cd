import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { readFile, rename, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { z } from 'zod'
import type { Clock } from '../../../ipc/base/clock.ts'
import type { Log } from '../../../ipc/base/log.ts'
import { Fault } from '../../../ipc/faults.ts'
import { refuseUpgrade } from '../refuse-upgrade.ts'
import type { ApiHandler } from './server.ts'
import { PAGE_HEADERS } from './static-files.ts'

const TOKEN_MS = 60_000
const TOKENS = 16
const SESSIONS = 32
const SESSION_MS = 30 * 24 * 3_600_000
const AUTH_BYTES = 1024
const CONNECTIONS = 256

export interface BrowserShellParts {
  handler: ApiHandler
  /** Remembers port and sessions (as digests), so that open windows survive a restart. */
  stateFile: string
  clock: Clock
  log: Log
}

/** The same API for a browser on this computer. */
export interface BrowserShell {
  /** A link that signs one browser in, once, within 60 s. The first call starts to listen: on `port`, 0 or absent = the last one if free. */
  link(port?: number): Promise<string>
  /** Ends every connection. Idempotent. */
  close(): Promise<void>
}

const State = z.object({ port: z.number(), sessions: z.array(z.object({ digest: z.string(), since: z.number() })) })
const digestOf = (secret: string) => createHash('sha256').update(secret).digest('hex')
const same = (a: string, b: string) => a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b))

/** Raises app/part-missing from `link` when the port asked for cannot be had. */
export function browserShell({ handler, stateFile, clock, log }: BrowserShellParts): BrowserShell {
  const tokens = new Map<string, number>()
  let state: z.infer<typeof State> = { port: 0, sessions: [] }
  let listening: Promise<Server> | undefined

  const origin = () => `http://127.0.0.1:${state.port}`
  const cookieName = () => `eitri-${state.port}`

  async function listen(port: number): Promise<Server> {
    state = await remembered(stateFile)
    const server = createServer({ requestTimeout: 0, keepAliveTimeout: 60_000 }, (req, res) => void serve(req, res))
    server.maxConnections = CONNECTIONS
    server.on('upgrade', (req: IncomingMessage, socket, head) => {
      if (sameHost(req) && req.headers.origin === origin() && signedIn(req)) handler.upgrade(req, socket, head)
      else refuseUpgrade(socket, 403)
    })
    await bind(server, port || state.port, port === 0)
    state.port = (server.address() as AddressInfo).port
    await remember()
    log.info('browser shell listens', { port: state.port })
    return server
  }

  async function serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    for (const [name, value] of Object.entries(PAGE_HEADERS)) res.setHeader(name, value)
    const path = (req.url ?? '/').split('?')[0] ?? '/'
    const reads = req.method === 'GET' || req.method === 'HEAD'
    if (!sameHost(req)) return refuse(res, 403, 'wrong host')
    if (req.headers.origin === undefined ? !reads : req.headers.origin !== origin())
      return refuse(res, 403, 'wrong origin')
    if (path === '/auth') return signIn(req, res)
    // Pages hold no secrets; everything that answers with data is a POST under the package's name.
    if ((reads && !path.startsWith('/eitri.')) || signedIn(req)) handler.handle(req, res)
    else refuse(res, 401, 'no session')
  }

  async function signIn(req: IncomingMessage, res: ServerResponse): Promise<void> {
    if (req.method !== 'POST') return refuse(res, 405, 'POST only')
    if (!(Number(req.headers['content-length']) <= AUTH_BYTES)) return refuse(res, 413, 'too large')
    const token = tokenIn(await text(req).catch(() => ''))
    if (!token || !spend(digestOf(token))) return refuse(res, 401, 'used or too old')
    const secret = randomBytes(32).toString('base64url')
    state.sessions = [...alive(), { digest: digestOf(secret), since: clock.now() }].slice(-SESSIONS)
    await remember()
    res.setHeader('set-cookie', `${cookieName()}=${secret}; Path=/; HttpOnly; SameSite=Strict`)
    res.writeHead(204).end()
  }

  /** Whether the token was open; it is not afterwards. */
  function spend(digest: string): boolean {
    let found: string | undefined
    for (const known of tokens.keys()) if (same(known, digest)) found = known
    const until = found === undefined ? undefined : tokens.get(found)
    if (found !== undefined) tokens.delete(found)
    return until !== undefined && clock.monotonic() < until
  }

  const alive = () => state.sessions.filter((s) => clock.now() - s.since < SESSION_MS)
  const sameHost = (req: IncomingMessage) => req.headers.host === `127.0.0.1:${state.port}`

  function signedIn(req: IncomingMessage): boolean {
    const prefix = `${cookieName()}=`
    const cookie = (req.headers.cookie ?? '').split('; ').find((c) => c.startsWith(prefix))
    const digest = digestOf(cookie?.slice(prefix.length) ?? '')
    return cookie !== undefined && alive().some((session) => same(session.digest, digest))
  }

  /** A disk that cannot be written costs the windows their session at the next restart, nothing now. */
  async function remember(): Promise<void> {
    try {
      await writeFile(`${stateFile}.new`, JSON.stringify(state), { mode: 0o600 })
      await rename(`${stateFile}.new`, stateFile)
    } catch (error) {
      log.warn('browser sessions not remembered', { message: String(error) })
    }
  }

  return {
    async link(port = 0) {
      listening ??= listen(port)
      await listening.catch((error: unknown) => {
        listening = undefined
        throw error
      })
      const token = randomBytes(32).toString('base64url')
      tokens.set(digestOf(token), clock.monotonic() + TOKEN_MS)
      for (const [digest] of [...tokens].slice(0, Math.max(0, tokens.size - TOKENS))) tokens.delete(digest)
      return `${origin()}/#t=${token}`
    },
    async close() {
      const server = await listening?.catch(() => undefined)
      listening = undefined
      if (!server) return
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** The unix socket's handler: the API, and `POST /launch` for a fresh link as `{"url":…}`. */
export function withLaunch(handler: ApiHandler, shell: BrowserShell, log: Log): ApiHandler {
  return {
    upgrade: (req, socket, head) => handler.upgrade(req, socket, head),
    handle(req, res) {
      if (req.url !== '/launch' || req.method !== 'POST') return handler.handle(req, res)
      shell.link().then(
        (url) => res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ url })),
        (error: unknown) => {
          log.error('browser shell cannot listen', { message: String(error) })
          refuse(res, 500, 'cannot listen')
        },
      )
    },
  }
}

function refuse(res: ServerResponse, status: number, why: string): void {
  res.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' }).end(`${why}\n`)
}

function tokenIn(body: string): string | undefined {
  try {
    return z.object({ token: z.string().min(1).max(256) }).parse(JSON.parse(body)).token
  } catch {
    return undefined
  }
}

async function remembered(file: string): Promise<z.infer<typeof State>> {
  try {
    return State.parse(JSON.parse(await readFile(file, 'utf8')))
  } catch {
    return { port: 0, sessions: [] }
  }
}

/** Listens on the port; where it is only a wish and taken, on any. */
async function bind(server: Server, port: number, wish: boolean): Promise<void> {
  const attempt = (at: number) =>
    new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(at, '127.0.0.1', () => {
        server.off('error', reject)
        resolve()
      })
    })
  try {
    await attempt(port)
  } catch (error) {
    if (wish && port !== 0) return attempt(0)
    const detail = error instanceof Error ? error.message : String(error)
    throw new Fault('app/part-missing', 'permanent', {
      part: `127.0.0.1:${port} (${detail})`,
      next: 'Choose another port.',
    })
  }
}
