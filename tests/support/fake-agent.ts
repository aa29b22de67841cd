import fs from 'node:fs'
import http2 from 'node:http2'
import type { ServiceImpl } from '@connectrpc/connect'
import { connectNodeAdapter } from '@connectrpc/connect-node'
import { AgentService } from '../../src/ipc/gen/eitri/agent/v1/agent_pb.js'

export interface FakeAgent extends AsyncDisposable {
  readonly socketPath: string
  close(): Promise<void>
}

/** As the real one has them. */
const STREAM_WINDOW_BYTES = 1024 * 1024
const SESSION_WINDOW_BYTES = 4 * STREAM_WINDOW_BYTES

/** The agent's contract on a unix socket, answered as the test says. */
export async function startFakeAgent(
  socketPath: string,
  answers: Partial<ServiceImpl<typeof AgentService>> = {},
): Promise<FakeAgent> {
  const handler = connectNodeAdapter({
    acceptCompression: [],
    routes: (router) => router.service(AgentService, { getStatus: () => ({ agentVersion: 'fake' }), ...answers }),
  })
  const server = http2.createServer({ settings: { initialWindowSize: STREAM_WINDOW_BYTES } }, handler)
  server.on('session', (session) => session.setLocalWindowSize(SESSION_WINDOW_BYTES))
  return listen(server, socketPath)
}

/** Anything HTTP/2 on a unix socket. */
export async function listen(server: http2.Http2Server, socketPath: string): Promise<FakeAgent> {
  const sessions = new Set<http2.ServerHttp2Session>()
  server.on('session', (session) => {
    sessions.add(session)
    session.on('close', () => sessions.delete(session))
    session.on('error', () => {})
  })
  await new Promise<void>((resolve) => server.listen(socketPath, resolve))
  const close = async () => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()))
    for (const session of sessions) session.destroy()
    await closed
    fs.rmSync(socketPath, { force: true })
  }
  return { socketPath, close, [Symbol.asyncDispose]: close }
}

/** An executable that knows `rpc --stdio --socket S` as the real one does. */
export function writeBridge(file: string): string {
  const script = `
const net = require('node:net')
const socket = net.connect(process.argv[process.argv.indexOf('--socket') + 1])
socket.on('error', (error) => { console.error(error.message); process.exit(3) })
socket.on('connect', () => {
  process.stdout.write('EITRI-AGENT-RPC 1\\n')
  process.stdin.pipe(socket)
  socket.pipe(process.stdout)
})
socket.on('close', () => process.exit(0))
`
  fs.writeFileSync(`${file}.cjs`, script)
  fs.writeFileSync(file, `#!/bin/sh\nexec '${process.execPath}' '${file}.cjs' "$@"\n`, { mode: 0o755 })
  return file
}
