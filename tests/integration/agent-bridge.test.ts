import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { STDIO_MAGIC } from '../../src/agent/rpc/stdio-bridge.ts'
import { MiB } from '../../src/ipc/units.ts'

const ENTRY = resolve('src/agent/index.ts')
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

let dir: string
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'eitri-bridge-'))
})
afterAll(() => rmSync(dir, { recursive: true, force: true }))

const bridge = (socket: string): ChildProcessWithoutNullStreams =>
  spawn(process.execPath, [ENTRY, 'rpc', '--stdio', '--socket', socket])

async function listening(name: string, serve: (socket: Socket) => void): Promise<{ path: string; server: Server }> {
  const path = join(dir, name)
  const server = createServer({ allowHalfOpen: true }, serve)
  server.listen(path)
  await once(server, 'listening')
  return { path, server }
}

async function outputOf(child: ChildProcessWithoutNullStreams): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of child.stdout as AsyncIterable<Buffer>) chunks.push(chunk)
  return Buffer.concat(chunks)
}

describe('eitri-agent rpc --stdio', () => {
  it('prints its line once, then every byte both ways unchanged, and ends with 0 after both half-closes', async () => {
    const up = randomBytes(6 * MiB)
    const down = randomBytes(6 * MiB)
    const got: Buffer[] = []
    const { path, server } = await listening('echo.sock', (socket) => {
      socket.write(down)
      socket.on('data', (chunk: Buffer) => got.push(chunk))
      socket.on('end', () => socket.end('after-your-end'))
    })
    const child = bridge(path)
    const exit = once(child, 'exit')
    child.stdin.end(up)
    const out = await outputOf(child)
    expect(out.subarray(0, STDIO_MAGIC.length).toString()).toBe(STDIO_MAGIC)
    const rest = out.subarray(STDIO_MAGIC.length)
    expect(sha256(rest.subarray(0, down.length))).toBe(sha256(down))
    expect(rest.subarray(down.length).toString()).toBe('after-your-end')
    expect(sha256(Buffer.concat(got))).toBe(sha256(up))
    expect(await exit).toEqual([0, null])
    server.close()
  })

  it('ends when the agent goes away although its own input stays open', async () => {
    const { path, server } = await listening('gone.sock', (socket) => socket.end('bye'))
    const child = bridge(path)
    const exit = once(child, 'exit')
    expect((await outputOf(child)).toString()).toBe(`${STDIO_MAGIC}bye`)
    expect(await exit).toEqual([0, null])
    server.close()
  })

  it('says in words and exit code 3 that nothing listens, with nothing on stdout', async () => {
    const child = bridge(join(dir, 'none.sock'))
    const [out, [code], err] = await Promise.all([outputOf(child), once(child, 'exit'), once(child.stderr, 'data')])
    expect(out.length).toBe(0)
    expect(code).toBe(3)
    expect(String(err[0])).toMatch(/^No agent listens on .*none\.sock: there is no such socket\.\n$/)
  })
})
