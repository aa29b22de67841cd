import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { serveStatic } from '../../../../../src/main/control/api/static-files.ts'
import { aTempDir } from '../a-store.ts'

let server: Server
let root: string | undefined

beforeEach(async () => {
  const dir = aTempDir()
  root = join(dir, 'renderer')
  mkdirSync(join(root, 'assets'), { recursive: true })
  writeFileSync(join(root, 'index.html'), '<!doctype html>the page')
  writeFileSync(join(root, 'assets', 'app-1a2b.js'), 'the script')
  writeFileSync(join(dir, 'secret.txt'), 'the secret')
  mkdirSync(join(dir, 'renderer-other'))
  writeFileSync(join(dir, 'renderer-other', 'x.txt'), 'the secret')
  server = createServer((req, res) => void serveStatic(root, req, res))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
})
afterEach(() => new Promise((resolve) => server.close(resolve)))

function get(path: string, method = 'GET') {
  const { port } = server.address() as AddressInfo
  return new Promise<{ status: number; headers: Record<string, unknown>; body: string }>((resolve, reject) => {
    const req = request({ host: '127.0.0.1', port, path, method, agent: false }, (res) => {
      let body = ''
      res.setEncoding('utf8').on('data', (text: string) => {
        body += text
      })
      res.on('end', () => resolve({ status: res.statusCode ?? 0, headers: res.headers, body }))
    })
    req.on('error', reject).end()
  })
}

describe('pages', () => {
  it.each(['/', '/vms', '/vms/abc/console', '/index.html', '/?x=1#t=2'])('%s is the one page', async (path) => {
    const { status, headers, body } = await get(path)
    expect([status, body]).toEqual([200, '<!doctype html>the page'])
    expect(headers['content-security-policy']).toContain("default-src 'none'")
    expect(headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'cache-control': 'no-cache' })
  })

  it('files named by their content may be kept for ever', async () => {
    const { headers, body } = await get('/assets/app-1a2b.js')
    expect(body).toBe('the script')
    expect(headers['content-type']).toContain('text/javascript')
    expect(headers['cache-control']).toContain('immutable')
  })

  it.each([
    '/../secret.txt',
    '/%2e%2e/secret.txt',
    '/assets/..%2f..%2fsecret.txt',
    '/..\\secret.txt',
    '/../renderer-other/x.txt',
    '/%00secret.txt',
    '/%zz.txt',
    '/assets.txt',
    '//etc/passwd.txt',
  ])('nothing is served for %s', async (path) => {
    const { status, body } = await get(path)
    expect([status, body]).toEqual([404, 'not found\n'])
  })

  it('HEAD has no body, other methods are refused, and without a build there is no page', async () => {
    expect(await get('/', 'HEAD')).toMatchObject({ status: 200, body: '' })
    expect(await get('/', 'POST')).toMatchObject({ status: 405 })
    root = undefined
    expect(await get('/')).toMatchObject({ status: 404 })
  })
})
