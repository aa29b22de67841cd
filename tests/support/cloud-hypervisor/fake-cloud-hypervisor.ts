#!/usr/bin/env node
// Plays cloud-hypervisor on its command line and its API socket; runs no guest. See script.ts for how it misbehaves.
import { appendFileSync, existsSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { OpenApiCheck } from './openapi-check.ts'
import { readScript } from './script.ts'
import { FakeVmm, type Reply } from './vmm.ts'

/** Every request that came, one JSON document a line, beside the sockets. */
const REQUESTS_FILE = 'requests.jsonl'
const BODY_LIMIT = 4 * 1024 * 1024

function die(text: string): never {
  process.stderr.write(`${text}\n`)
  process.exit(1)
}

function options() {
  try {
    const { values } = parseArgs({
      options: {
        'api-socket': { type: 'string' },
        'event-monitor': { type: 'string' },
        'log-file': { type: 'string' },
        seccomp: { type: 'string' },
        landlock: { type: 'boolean' },
        'no-shutdown': { type: 'boolean' },
        version: { type: 'boolean', short: 'V' },
        v: { type: 'boolean', short: 'v', multiple: true },
      },
      strict: true,
      allowPositionals: false,
    })
    return values
  } catch (error) {
    return die(`error: ${(error as Error).message}\n\nUsage: cloud-hypervisor --api-socket path=<path>`)
  }
}

/** "path=X", the one form the documentation shows. */
function pathOf(option: string, value: string | undefined): string | undefined {
  if (value === undefined) return undefined
  const path = /^path=([^,]+)$/.exec(value)?.[1]
  return path ?? die(`error: invalid value '${value}' for '--${option}': expected path=<path>`)
}

const given = options()
if (given.version) {
  process.stdout.write('cloud-hypervisor v53.0\n')
  process.exit(0)
}
const script = readScript()
if (script.dieAtStart !== undefined) die(script.dieAtStart)
const apiSocket = pathOf('api-socket', given['api-socket']) ?? die('error: --api-socket is needed')
if (existsSync(apiSocket))
  die(`Error: Cloud Hypervisor exited with the following chain of errors:
  0: Failed to start API server
  1: Error binding API server socket
  2: Address in use (os error 98)`)

const vmm = new FakeVmm(pathOf('event-monitor', given['event-monitor']), given['no-shutdown'] === true)
const contract = new OpenApiCheck(join(import.meta.dirname, 'openapi.yaml'))
const used = new WeakSet<object>()

process.on('SIGTERM', () => {
  if (!readScript().ignoreSigterm) process.exit(0)
})

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size <= BODY_LIMIT) chunks.push(chunk)
  }
  return size > BODY_LIMIT ? '\0too large' : Buffer.concat(chunks).toString('utf8')
}

function send(response: ServerResponse, { status, body }: Reply): void {
  const text = body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body)
  response.writeHead(status, { Server: 'Cloud Hypervisor API', 'Content-Length': Buffer.byteLength(text) })
  response.end(text)
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const endpoint = /^\/api\/v1\/([a-z.-]+)$/.exec(request.url ?? '')?.[1] ?? ''
  const body = await bodyOf(request)
  appendFileSync(REQUESTS_FILE, `${JSON.stringify({ method: request.method, endpoint, body })}\n`)
  const bad = (status: number, problem: string) => send(response, { status, body: ['Error from API', problem] })
  if (used.has(request.socket)) return bad(400, 'a second request on one connection')
  used.add(request.socket)
  const verdict = contract.request(request.method ?? '', endpoint, body)
  if (!verdict.known) return bad(404, verdict.problem)
  if (verdict.problem !== '') return bad(400, verdict.problem)
  const scripted = readScript().answers?.[endpoint]
  if (scripted === 'silence') return
  if (scripted === 'close') return void request.socket.end('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"sta')
  if (typeof scripted === 'object') return send(response, scripted)
  const reply = await vmm.handle(endpoint, body === '' ? undefined : JSON.parse(body))
  if (scripted !== 'done-silence') send(response, reply)
}

createServer((request, response) => void answer(request, response)).listen(apiSocket)
