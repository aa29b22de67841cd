import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { forwardToSocket } from '../../../../src/main/shell/forwarder.ts'

let dir: string
let server: http.Server
let socketPath: string
let answer: (req: IncomingMessage, res: ServerResponse) => void

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'eitri-fwd-'))
  socketPath = join(dir, 's')
  server = http.createServer((req, res) => answer(req, res))
  await new Promise<void>((resolve) => server.listen(socketPath, resolve))
})

afterEach(async () => {
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
  await rm(dir, { recursive: true, force: true })
})

const page = (path: string, init: RequestInit & { duplex?: 'half' } = {}) => new Request(`http://eitri${path}`, init)

describe('a request of a page', () => {
  it('reaches the unix socket with method, path, query and body', async () => {
    answer = async (req, res) => res.end(`${req.method} ${req.url} ${await text(req)}`)
    const response = await forwardToSocket(page('/a/b?c=d', { method: 'POST', body: 'hello' }), socketPath)
    expect(response.status).toBe(200)
    expect(await response.text()).toBe('POST /a/b?c=d hello')
  })

  it('gets the answer piece by piece while it is being made', async () => {
    const made = Promise.withResolvers<ServerResponse>()
    answer = (_, res) => {
      res.write('one')
      made.resolve(res)
    }
    const response = await forwardToSocket(page('/'), socketPath)
    const reader = response.body!.getReader()
    const next = async () => new TextDecoder().decode((await reader.read()).value)
    expect(await next()).toBe('one')
    const res = await made.promise
    res.write('two')
    expect(await next()).toBe('two')
    res.end()
    expect((await reader.read()).done).toBe(true)
  })

  it('sends its body piece by piece while it is being made', async () => {
    const arrived = Promise.withResolvers<IncomingMessage>()
    answer = (req, res) => {
      arrived.resolve(req)
      req.on('end', () => res.end('done'))
    }
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
    const writer = writable.getWriter()
    const response = forwardToSocket(page('/', { method: 'POST', body: readable, duplex: 'half' }), socketPath)
    void writer.write(Buffer.from('first'))
    const req = await arrived.promise
    expect(String((await once(req, 'data'))[0])).toBe('first')
    void writer.write(Buffer.from('second'))
    expect(String((await once(req, 'data'))[0])).toBe('second')
    await writer.close()
    expect(await (await response).text()).toBe('done')
  })

  it('ends the call on the other side when the page gives up, before and during the answer', async () => {
    for (const started of [false, true]) {
      const came = Promise.withResolvers<ServerResponse>()
      answer = (_, res) => {
        if (started) res.write('x')
        came.resolve(res)
      }
      const abort = new AbortController()
      const response = forwardToSocket(page('/', { signal: abort.signal }), socketPath)
      const outcome = started ? response.then((r) => r.text()) : response
      const res = await came.promise
      if (started) await response
      const closed = once(res, 'close')
      abort.abort()
      await expect(outcome).rejects.toThrow(/abort/i)
      await closed
    }
  })

  it('ends the call on the other side when the page stops reading', async () => {
    const came = Promise.withResolvers<ServerResponse>()
    answer = (_, res) => {
      res.write('x')
      came.resolve(res)
    }
    const response = await forwardToSocket(page('/'), socketPath)
    const closed = once(await came.promise, 'close')
    await response.body!.cancel()
    await closed
  })

  it('breaks when the other side breaks off', async () => {
    answer = (_, res) => {
      res.write('x')
      setImmediate(() => res.destroy())
    }
    const response = await forwardToSocket(page('/'), socketPath)
    await expect(response.text()).rejects.toThrow()
  })

  it('breaks the call when the page breaks off its body', async () => {
    const came = Promise.withResolvers<void>()
    const closed = Promise.withResolvers<void>()
    answer = (req) => {
      req.on('error', () => {})
      req.on('close', () => closed.resolve())
      came.resolve()
    }
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
    const writer = writable.getWriter()
    const response = forwardToSocket(page('/', { method: 'POST', body: readable, duplex: 'half' }), socketPath)
    void writer.write(Buffer.from('x')).catch(() => {})
    await came.promise
    await writer.abort(new Error('gone'))
    await closed.promise
    expect((await response).status).toBe(502)
  })

  it('passes on neither what belongs to a connection nor who asks', async () => {
    answer = (req, res) => {
      res.setHeader('set-cookie', 'a=b')
      res.setHeader('keep-alive', 'timeout=5')
      res.setHeader('content-security-policy', "default-src 'unsafe-inline'")
      res.setHeader('x-other', ['1', '2'])
      res.end(JSON.stringify(req.headers))
    }
    const headers = {
      'connect-protocol-version': '1',
      referer: 'app://eitri/',
      cookie: 'c=d',
      'accept-encoding': 'gzip',
    }
    const response = await forwardToSocket(page('/', { headers }), socketPath)
    const seen = (await response.json()) as Record<string, string>
    expect(seen['connect-protocol-version']).toBe('1')
    for (const name of ['referer', 'cookie', 'accept-encoding', 'origin']) expect(seen).not.toHaveProperty(name)
    expect(response.headers.get('set-cookie')).toBeNull()
    expect(response.headers.get('keep-alive')).toBeNull()
    expect(response.headers.get('x-other')).toBe('1, 2')
    expect(response.headers.get('content-security-policy')).toMatch(/^default-src 'none'; script-src 'self';/)
  })

  it('passes on an answer without a body', async () => {
    answer = (_, res) => res.writeHead(304).end()
    const response = await forwardToSocket(page('/'), socketPath)
    expect([response.status, response.body]).toEqual([304, null])
  })

  it('is answered with 502 when nobody listens, and that is told', async () => {
    const lost = vi.fn()
    const response = await forwardToSocket(page('/'), `${socketPath}-none`, lost)
    expect(response.status).toBe(502)
    expect(lost).toHaveBeenCalledOnce()
  })
})
