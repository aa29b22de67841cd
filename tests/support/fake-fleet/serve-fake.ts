import { readFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join, normalize } from 'node:path'
import { connectNodeAdapter } from '@connectrpc/connect-node'
import type { FakeConsole } from './fake-console.ts'
import type { FakeFleet } from './fake-fleet.ts'

const RENDERER = process.env['RENDERER_DIR'] ?? new URL('../../../dist/renderer/', import.meta.url).pathname
const TYPES: Record<string, string> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
}

/** Serves the built renderer, the fake fleet's API and its consoles on one loopback port. */
export async function serveFake(fleet: FakeFleet, consoles: FakeConsole, port = 0) {
  const serveFile = (request: IncomingMessage, response: ServerResponse) => {
    const path = normalize(new URL(request.url ?? '/', 'http://fake').pathname)
    const file = join(RENDERER, path.endsWith('/') ? 'index.html' : path)
    readFile(file).then(
      (body) => response.writeHead(200, { 'content-type': TYPES[extname(file)] ?? 'text/plain' }).end(body),
      () => response.writeHead(404).end(),
    )
  }
  const rpc = connectNodeAdapter({ routes: fleet.routes })
  let holds: RegExp | undefined
  let refuses = false
  const held = new Set<ServerResponse>()
  const call = (request: IncomingMessage, response: ServerResponse) => {
    if (refuses) request.socket.destroy()
    else if (holds?.test(request.url ?? '')) held.add(response)
    else rpc(request, response)
  }
  const server = createServer((request, response) =>
    request.url?.startsWith('/eitri.') ? call(request, response) : serveFile(request, response),
  )
  server.on('upgrade', (request, socket, head) => consoles.upgrade(request, socket, head))
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** Calls of such paths get no answer from now on. */
    hold(paths: RegExp) {
      holds = paths
    },
    /** Every call is cut off from now on, as by a control plane that died. */
    refuse() {
      refuses = true
    },
    close: async () => {
      consoles.close()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
