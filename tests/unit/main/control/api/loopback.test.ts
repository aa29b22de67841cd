import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import WebSocket, { WebSocketServer } from 'ws'
import { silentLog } from '../../../../../src/ipc/base/log.ts'
import { type BrowserShell, browserShell, withLaunch } from '../../../../../src/main/control/api/loopback.ts'
import type { ApiHandler } from '../../../../../src/main/control/api/server.ts'

let dir: string
let now: number
let shell: BrowserShell
const shells: BrowserShell[] = []
const sockets = new WebSocketServer({ noServer: true })

const handler: ApiHandler = {
  handle: (req, res) => res.end(`api ${req.method} ${req.url}`),
  upgrade: (req, socket, head) => sockets.handleUpgrade(req, socket, head, (ws) => ws.send('hello')),
}

function make(): BrowserShell {
  const clock = { now: () => now, monotonic: () => now, sleep: () => Promise.resolve() }
  const made = browserShell({ handler, stateFile: join(dir, 'browser.json'), clock, log: silentLog })
  shells.push(made)
  return made
}

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'eitri-shell-'))
  now = Date.parse('2026-01-01T00:00:00Z')
  shell = make()
})

afterEach(async () => {
  for (const one of shells.splice(0)) await one.close()
  await rm(dir, { recursive: true, force: true })
})

interface Answer {
  status: number
  body: string
  headers: http.IncomingHttpHeaders
}

const parse = (link: string) => {
  const { origin, host, port, hash } = new URL(link)
  return { origin, host, port: Number(port), token: hash.slice('#t='.length) }
}

/** A request whose every header the test chooses, as no browser lets a page do. */
async function ask(
  port: number,
  method: string,
  path: string,
  headers: http.OutgoingHttpHeaders,
  body = '',
): Promise<Answer> {
  const req = http.request({
    host: '127.0.0.1',
    port,
    method,
    path,
    headers: { 'content-length': body.length, ...headers },
  })
  req.end(body)
  const [res] = (await once(req, 'response')) as [http.IncomingMessage]
  return { status: res.statusCode!, body: await text(res), headers: res.headers }
}

async function signIn(link: string, headers: http.OutgoingHttpHeaders = {}): Promise<Answer> {
  const { origin, host, port, token } = parse(link)
  return ask(port, 'POST', '/auth', { host, origin, ...headers }, JSON.stringify({ token }))
}

const cookieOf = (answer: Answer) => answer.headers['set-cookie']![0]!.split(';')[0]!

describe('the browser shell', () => {
  it('swaps a link for a cookie no script can read, whose name carries the port', async () => {
    const link = await shell.link()
    const { port, host, origin } = parse(link)
    const answer = await signIn(link)
    expect(answer.status).toBe(204)
    expect(answer.headers['set-cookie']![0]).toMatch(
      new RegExp(`^eitri-${port}=[A-Za-z0-9_-]{43}; Path=/; HttpOnly; SameSite=Strict$`),
    )
    const call = await ask(port, 'POST', '/eitri.fleet.v1.FleetService/GetInfo', {
      host,
      origin,
      cookie: cookieOf(answer),
    })
    expect(call).toMatchObject({ status: 200, body: 'api POST /eitri.fleet.v1.FleetService/GetInfo' })
  })

  it('signs in though its sessions cannot be written down', async () => {
    const link = await shell.link()
    await mkdir(join(dir, 'browser.json.new'))
    expect((await signIn(link)).status).toBe(204)
  })

  it('takes a token once', async () => {
    const link = await shell.link()
    expect((await signIn(link)).status).toBe(204)
    expect((await signIn(link)).status).toBe(401)
  })

  it('takes a token for 60 seconds', async () => {
    const link = await shell.link()
    now += 60_000
    expect((await signIn(link)).status).toBe(401)
  })

  it('keeps the 16 newest links open', async () => {
    const first = await shell.link()
    for (let i = 0; i < 16; i++) await shell.link()
    expect((await signIn(first)).status).toBe(401)
  })

  it('puts 256 bits in the fragment, which no server and no log sees', async () => {
    const a = parse(await shell.link())
    const b = parse(await shell.link())
    expect(Buffer.from(a.token, 'base64url')).toHaveLength(32)
    expect(a.token).not.toBe(b.token)
    expect(await readFile(join(dir, 'browser.json'), 'utf8')).not.toContain(a.token)
  })

  it.each([
    ['another origin', { origin: 'http://evil.example' }],
    ['another port of this computer', { origin: 'http://127.0.0.1:1' }],
    ['no origin', { origin: undefined }],
    ['a null origin', { origin: 'null' }],
    ['a name that was bound to this address', { host: 'evil.example' }],
    ['localhost', { host: 'localhost' }],
  ])('does not sign in a request from %s, nor spend the token', async (_, wrong) => {
    const link = await shell.link()
    const headers = Object.fromEntries(
      Object.entries({ origin: parse(link).origin, ...wrong }).filter(([, v]) => v !== undefined),
    ) as http.OutgoingHttpHeaders
    const { host, port, token } = parse(link)
    const answer = await ask(port, 'POST', '/auth', { host, ...headers }, JSON.stringify({ token }))
    expect([answer.status, answer.headers['set-cookie']]).toEqual([403, undefined])
    expect((await signIn(link)).status).toBe(204)
  })

  it.each(['', 'words', '{}', '{"token":5}', `{"token":"${'x'.repeat(300)}"}`])(
    'refuses a sign-in of %j',
    async (body) => {
      const { host, origin, port } = parse(await shell.link())
      expect((await ask(port, 'POST', '/auth', { host, origin }, body)).status).toBe(401)
    },
  )

  it('refuses a sign-in larger than 1 KiB without reading it', async () => {
    const { host, origin, port } = parse(await shell.link())
    expect((await ask(port, 'POST', '/auth', { host, origin }, 'x'.repeat(2000))).status).toBe(413)
  })

  it('serves pages to anybody on this computer, with a policy, and data to none without a session', async () => {
    const { host, origin, port } = parse(await shell.link())
    const page = await ask(port, 'GET', '/', { host })
    expect(page).toMatchObject({ status: 200, body: 'api GET /' })
    expect(page.headers['content-security-policy']).toMatch(/^default-src 'none'; script-src 'self';/)
    expect((await ask(port, 'GET', '/', { host: `localhost:${port}` })).status).toBe(403)
    const call = '/eitri.fleet.v1.VmService/ListVms'
    expect((await ask(port, 'POST', call, { host, origin })).status).toBe(401)
    expect((await ask(port, 'GET', call, { host })).status).toBe(401)
    const guessed = `eitri-${port}=${'A'.repeat(43)}`
    expect((await ask(port, 'POST', call, { host, origin, cookie: guessed })).status).toBe(401)
  })

  it('refuses a call that another site makes with the cookie', async () => {
    const link = await shell.link()
    const { host, port } = parse(link)
    const cookie = cookieOf(await signIn(link))
    for (const origin of ['http://evil.example', 'null'])
      expect((await ask(port, 'POST', '/eitri.fleet.v1.VmService/PurgeVm', { host, origin, cookie })).status).toBe(403)
    expect((await ask(port, 'POST', '/eitri.fleet.v1.VmService/PurgeVm', { host, cookie })).status).toBe(403)
  })

  it('opens /console only with cookie, origin and host', async () => {
    const link = await shell.link()
    const { host, origin, port } = parse(link)
    const cookie = cookieOf(await signIn(link))
    const connect = async (headers: Record<string, string>) => {
      const ws = new WebSocket(`ws://127.0.0.1:${port}/console`, { headers: { host, ...headers } })
      const outcome = await Promise.race([
        once(ws, 'message').then(([data]) => String(data)),
        once(ws, 'unexpected-response').then(([, res]) => (res as http.IncomingMessage).statusCode),
      ])
      ws.on('error', () => {})
      ws.terminate()
      return outcome
    }
    expect(await connect({ origin, cookie })).toBe('hello')
    expect(await connect({ origin })).toBe(403)
    expect(await connect({ cookie })).toBe(403)
    expect(await connect({ origin: 'http://evil.example', cookie })).toBe(403)
    expect(await connect({ origin, cookie, host: 'evil.example' })).toBe(403)
  })

  it('keeps open windows signed in over a restart, on the same port, with digests on disk alone', async () => {
    const link = await shell.link()
    const { host, origin, port } = parse(link)
    const cookie = cookieOf(await signIn(link))
    await shell.close()
    const again = make()
    expect(parse(await again.link()).port).toBe(port)
    expect((await ask(port, 'POST', '/eitri.x', { host, origin, cookie })).status).toBe(200)
    const file = join(dir, 'browser.json')
    expect(await readFile(file, 'utf8')).not.toContain(cookie.split('=')[1])
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    now += 31 * 24 * 3_600_000
    expect((await ask(port, 'POST', '/eitri.x', { host, origin, cookie })).status).toBe(401)
  })

  it('takes any port when the last one is taken, and says so when a port was asked for', async () => {
    const { port } = parse(await shell.link())
    const other = make()
    expect(parse(await other.link()).port).not.toBe(port)
    await expect(make().link(port)).rejects.toMatchObject({
      code: 'app/part-missing',
      params: { part: expect.stringContaining(`${port}`) },
    })
  })
})

describe('POST /launch', () => {
  it('mints a link on the unix socket, and is no part of the loopback', async () => {
    const path = join(dir, 's')
    const server = http.createServer(withLaunch(handler, shell, silentLog).handle)
    await new Promise<void>((resolve) => server.listen(path, resolve))
    const req = http.request({ socketPath: path, path: '/launch', method: 'POST' }).end()
    const [res] = (await once(req, 'response')) as [http.IncomingMessage]
    const { url } = JSON.parse(await text(res)) as { url: string }
    expect((await signIn(url)).status).toBe(204)
    const link = await shell.link()
    const { host, origin, port } = parse(link)
    expect((await ask(port, 'POST', '/launch', { host, origin })).status).toBe(401)
    const cookie = cookieOf(await signIn(link))
    expect((await ask(port, 'POST', '/launch', { host, origin, cookie })).body).toBe('api POST /launch')
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
})
