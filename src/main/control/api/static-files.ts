import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { extname, join, normalize, sep } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { CONTENT_POLICY } from '../../../ipc/content-policy.ts'

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.wasm': 'application/wasm',
  '.map': 'application/json; charset=utf-8',
}

/** On every answer that a page could be made of. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': CONTENT_POLICY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
}

/** Serves the built renderer; a path without an extension is one of its pages. Never leaves `root`. */
export async function serveStatic(root: string | undefined, req: IncomingMessage, res: ServerResponse): Promise<void> {
  if (req.method !== 'GET' && req.method !== 'HEAD') return answer(res, 405, { allow: 'GET, HEAD' })
  const file = root === undefined ? undefined : await fileOf(root, req.url ?? '/')
  if (!file) return answer(res, 404)
  const immutable = file.path.includes(`${sep}assets${sep}`)
  res.writeHead(200, {
    ...PAGE_HEADERS,
    'content-type': TYPES[extname(file.path)] ?? 'application/octet-stream',
    'content-length': file.size,
    'cache-control': immutable ? 'public, max-age=31536000, immutable' : 'no-cache',
  })
  if (req.method === 'HEAD') {
    res.end()
    return
  }
  // A reader that goes away is not an error of ours.
  await pipeline(createReadStream(file.path), res).catch(() => res.destroy())
}

function answer(res: ServerResponse, status: number, headers: Record<string, string> = {}): void {
  res.writeHead(status, { ...PAGE_HEADERS, 'content-type': 'text/plain; charset=utf-8', ...headers })
  res.end(status === 404 ? 'not found\n' : 'not allowed\n')
}

async function fileOf(root: string, url: string): Promise<{ path: string; size: number } | undefined> {
  const wanted = pathOf(url)
  if (wanted === undefined) return undefined
  const name = extname(wanted) === '' ? 'index.html' : wanted
  const path = normalize(join(root, name))
  if (!path.startsWith(root.endsWith(sep) ? root : root + sep)) return undefined
  try {
    const info = await stat(path)
    return info.isFile() ? { path, size: info.size } : undefined
  } catch {
    return undefined
  }
}

/** The decoded path; undefined when it is malformed or tries to climb. */
function pathOf(url: string): string | undefined {
  try {
    const path = decodeURIComponent(url.split(/[?#]/, 1)[0] ?? '/')
    return /\0|\\|(^|\/)\.\.(\/|$)/.test(path) ? undefined : path
  } catch {
    return undefined
  }
}
