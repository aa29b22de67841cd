import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { fleetClient } from '../../../../src/main/fleet-client.ts'
import { embedControl, serveControl } from '../../../../src/main/serving/serve.ts'
import { FakeTerminal } from '../../../support/fake-terminal.ts'

const SERVE = resolve(import.meta.dirname, '../../../../src/main/serve.ts')
let dir: string
const running: { abort: AbortController; done: Promise<void> }[] = []

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'eitri-serve-'))
  vi.stubEnv('XDG_RUNTIME_DIR', join(dir, 'run'))
  vi.stubEnv('HOME', dir)
  vi.stubEnv('DISPLAY', '')
  vi.stubEnv('WAYLAND_DISPLAY', '')
})

afterEach(async () => {
  for (const { abort, done } of running.splice(0)) {
    abort.abort()
    await done.catch(() => {})
  }
  vi.unstubAllEnvs()
  await rm(dir, { recursive: true, force: true })
})

function serve(options: { port?: number; open?: boolean; readyJson?: boolean } = {}) {
  const io = new FakeTerminal()
  const abort = new AbortController()
  const { open = false, readyJson = true, ...port } = options
  const done = serveControl({ dataDir: join(dir, 'data'), open, readyJson, ...port }, io, abort.signal)
  running.push({ abort, done })
  done.catch(() => {})
  return { io, abort, done }
}

async function ready(options: Parameters<typeof serve>[0] = {}) {
  const served = serve(options)
  await Promise.race([served.io.until(() => served.io.out.endsWith('\n')), served.done])
  const line = JSON.parse(served.io.out) as { attached: boolean; pid: number; api_socket: string; url?: string }
  return { ...served, line }
}

describe('the control plane as a process', { timeout: 30_000 }, () => {
  it('says one line when it answers on a socket only this user can use', async () => {
    const { line } = await ready()
    expect(line).toMatchObject({ ready: true, attached: false, pid: process.pid })
    expect((await stat(line.api_socket)).mode & 0o777).toBe(0o600)
    expect(await fleetClient(line.api_socket).fleet.getInfo({})).toMatchObject({ pid: process.pid })
  })

  it('stops when it is told, and leaves neither socket nor lock', async () => {
    const { line, abort, done } = await ready({ port: 0 })
    abort.abort()
    await done
    expect(existsSync(line.api_socket)).toBe(false)
    expect(existsSync(join(dir, 'data', 'lock'))).toBe(false)
    await expect(fetch(new URL(line.url!).origin)).rejects.toThrow()
  })

  it('attaches to the one that runs, with a fresh link, and leaves it running', async () => {
    const first = await ready({ port: 0 })
    const second = await ready({ port: 0 })
    expect(second.line).toMatchObject({ attached: true, pid: process.pid, api_socket: first.line.api_socket })
    expect(new URL(second.line.url!).origin).toBe(new URL(first.line.url!).origin)
    expect(second.line.url).not.toBe(first.line.url)
    await second.done
    expect(await fleetClient(first.line.api_socket).fleet.getInfo({})).toBeDefined()
  })

  it('gives a link into one that was started without a browser', async () => {
    const first = await ready()
    expect(first.line.url).toBeUndefined()
    expect((await ready({ port: 0 })).line.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#t=/)
  })

  it('names the one that runs when it is asked for a second', async () => {
    await ready()
    await expect(serve({ readyJson: false }).done).rejects.toMatchObject({
      code: 'app/already-running',
      params: { pid: String(process.pid) },
    })
  })

  it('prints the link where there is no display', async () => {
    const { io } = serve({ port: 0, open: true, readyJson: false })
    await io.until(() => io.err.includes('#t='))
    expect(io.err).toMatch(/There is no display here\. Open within 60 s, once: http:\/\/127\.0\.0\.1:\d+\/#t=\S+\n$/)
  })

  it('lets go of the lock when it cannot start', async () => {
    const first = await ready({ port: 0 })
    const port = Number(new URL(first.line.url!).port)
    const elsewhere = serveControl(
      { dataDir: join(dir, 'other'), open: false, readyJson: true, port },
      new FakeTerminal(),
      new AbortController().signal,
    )
    await expect(elsewhere).rejects.toMatchObject({ code: 'app/part-missing' })
    expect(existsSync(join(dir, 'other', 'lock'))).toBe(false)
  })

  it('lives within one command, and uses the one that runs when there is one', async () => {
    const own = await embedControl(join(dir, 'data'))
    const other = await embedControl(join(dir, 'data'))
    await other.stop()
    expect(existsSync(join(dir, 'data', 'lock'))).toBe(true)
    await own.stop()
    expect(existsSync(join(dir, 'data', 'lock'))).toBe(false)
  })
})

describe('its program', { timeout: 60_000 }, () => {
  async function start(...nodeOptions: string[]) {
    const args = [...nodeOptions, SERVE, '--data-dir', join(dir, 'data'), '--ready-json']
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
    let err = ''
    child.stderr.on('data', (chunk) => {
      err += String(chunk)
    })
    const exited = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>
    const line = once(createInterface({ input: child.stdout }), 'line')
    await Promise.race([line, exited.then(() => Promise.reject(new Error(err)))])
    return { child, exited, err: () => err }
  }

  it.each(['SIGTERM', 'SIGINT'] as const)('exits with 0 on %s', async (signal) => {
    const { child, exited } = await start()
    child.kill(signal)
    expect(await exited).toEqual([0, null])
    expect(existsSync(join(dir, 'data', 'lock'))).toBe(false)
  })

  it('exits with 1 after an error nobody caught, and logs it', async () => {
    const fault = join(dir, 'fault.mjs')
    await writeFile(fault, "process.on('SIGUSR2', () => { throw new Error('planted') })\n")
    const { child, exited, err } = await start('--import', fault)
    child.kill('SIGUSR2')
    expect(await exited).toEqual([1, null])
    expect(err()).toBe('An unexpected fault inside Eitri; VMs go on. It is in the log.\n')
    expect(await readFile(join(dir, 'data', 'log', 'control.log'), 'utf8')).toContain('planted')
  })

  it('starts again after SIGKILL: the lock of the dead is taken over', async () => {
    const first = await start()
    first.child.kill('SIGKILL')
    await first.exited
    const second = await start()
    second.child.kill('SIGTERM')
    expect(await second.exited).toEqual([0, null])
  })
})
