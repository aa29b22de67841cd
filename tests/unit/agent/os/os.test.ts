import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, readlink, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { detach, run } from '../../../../src/agent/os/exec.ts'
import {
  AppendFile,
  growFile,
  readHeadNow,
  readIfPresent,
  readRange,
  readTail,
  regularFile,
  removeAtomically,
  writeDurable,
} from '../../../../src/agent/os/files.ts'
import { takeLock } from '../../../../src/agent/os/lock.ts'
import { LOG_LIMIT_BYTES, logOutput } from '../../../../src/agent/os/log-output.ts'
import { linuxProcesses } from '../../../../src/agent/os/process.ts'
import { READ_LIMIT_BYTES } from '../../../../src/agent/os/read-files.ts'
import { connectUnix } from '../../../../src/agent/os/unix-socket.ts'

let dir: string
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'eitri-os-'))
})
afterEach(() => rm(dir, { recursive: true, force: true }))

describe('files', () => {
  it('a durable write replaces whole, keeps its mode and leaves nothing beside', async () => {
    const path = join(dir, 'file')
    await writeDurable('record.save', path, 'old')
    await writeDurable('record.save', path, 'new', 0o640)
    expect(await readFile(path, 'utf8')).toBe('new')
    expect((await stat(path)).mode & 0o777).toBe(0o640)
    expect(await readdir(dir)).toEqual(['file'])
  })

  it('a durable write that fails leaves the old bytes and nothing else', async () => {
    await mkdir(join(dir, 'taken'))
    await writeFile(join(dir, 'taken', 'x'), '')
    await expect(writeDurable('record.save', join(dir, 'taken'), 'new')).rejects.toThrow()
    expect(await readdir(dir)).toEqual(['taken'])
  })

  it('absent is undefined, everything else unreadable throws', async () => {
    expect(await readIfPresent(join(dir, 'none'))).toBeUndefined()
    await expect(readIfPresent(dir)).rejects.toThrow('it is a directory, not a regular file')
  })

  describe.each<[string, (path: string) => Promise<unknown>]>([
    ['a named pipe', async (path) => execFileSync('mkfifo', [path])],
    ['a link to an endless device', (path) => symlink('/dev/zero', path)],
    ['a directory', (path) => mkdir(path)],
    ['a link to itself', (path) => symlink(path, path)],
  ])('%s where a file should be', (_, make) => {
    it('is refused by every read and every append, and nobody waits for it', async () => {
      const path = join(dir, 'odd')
      await make(path)
      const refused = /not a regular file|ELOOP|ENXIO|EISDIR/
      await expect(readIfPresent(path)).rejects.toThrow(refused)
      await expect(readRange(path, 0, 8)).rejects.toThrow(refused)
      await expect(readTail(path, 8)).rejects.toThrow(refused)
      await expect(regularFile(path)).rejects.toThrow('not a regular file')
      expect(() => readHeadNow(path, 8)).toThrow(refused)
      await expect(AppendFile.open('serial.open', path)).rejects.toThrow(refused)
      await expect(growFile('vfkit-disk.grow', path, 8)).rejects.toThrow(refused)
    })
  })

  it('a file larger than any the agent writes is unreadable, not read', async () => {
    const path = join(dir, 'huge')
    await writeFile(path, '')
    await truncate(path, READ_LIMIT_BYTES + 1)
    await expect(readIfPresent(path)).rejects.toThrow(`it is larger than ${READ_LIMIT_BYTES} bytes`)
    await writeFile(path, 'abcd')
    await expect(readIfPresent(path, 3)).rejects.toThrow('it is larger than 3 bytes')
    expect(String(await readIfPresent(path, 4))).toBe('abcd')
  })

  it('a tree is removed in one step, an absent one without harm', async () => {
    await mkdir(join(dir, 'vm', 'deep'), { recursive: true })
    await mkdir(join(dir, 'trash'))
    await removeAtomically('vm.remove', join(dir, 'vm'), join(dir, 'trash'))
    await removeAtomically('vm.remove', join(dir, 'vm'), join(dir, 'trash'))
    expect(await readdir(dir)).toEqual(['trash'])
    expect(await readdir(join(dir, 'trash'))).toEqual([])
  })

  it('the tail of a file is its last bytes, of none it is empty', async () => {
    await writeFile(join(dir, 'log'), '0123456789')
    expect((await readTail(join(dir, 'log'), 4)).toString()).toBe('6789')
    expect((await readTail(join(dir, 'log'), 99)).toString()).toBe('0123456789')
    expect((await readTail(join(dir, 'none'), 4)).length).toBe(0)
  })
})

describe('programs', () => {
  it('give their code and both outputs, with no shell in between', async () => {
    const result = await run('vmm.ask-tool', '/bin/echo', ['$(id)', ';'], { timeoutMs: 5_000 })
    expect(result).toEqual({ code: 0, stdout: '$(id) ;\n', stderr: '', timedOut: false })
  })

  it('are killed at their deadline and when nobody wants them', async () => {
    expect(await run('vmm.ask-tool', '/bin/sleep', ['60'], { timeoutMs: 50 })).toMatchObject({
      code: null,
      timedOut: true,
    })
    const stop = new AbortController()
    const gone = run('vmm.ask-tool', '/bin/sleep', ['60'], { timeoutMs: 5_000, signal: stop.signal })
    stop.abort(new Error('not wanted'))
    await expect(gone).rejects.toThrow('not wanted')
  })

  it.each(['deadline', 'abort'])('end with all they started at their %s', async (why) => {
    const pidfile = join(dir, 'pid')
    const script = `sleep 600 & echo $! > ${pidfile}.tmp; mv ${pidfile}.tmp ${pidfile}; wait`
    const stop = new AbortController()
    const options = { timeoutMs: why === 'deadline' ? 2_000 : 60_000, signal: stop.signal }
    const ended = run('vmm.ask-tool', '/bin/sh', ['-c', script], options).catch((error: Error) => error.message)
    await expect.poll(() => readIfPresent(pidfile)).toBeDefined()
    const pid = Number(await readFile(pidfile, 'utf8'))
    if (why === 'abort') stop.abort(new Error('not wanted'))
    expect(await ended).toEqual(why === 'abort' ? 'not wanted' : expect.objectContaining({ timedOut: true }))
    await expect.poll(() => linuxProcesses().identify(pid)).toBeUndefined()
  })

  it('are not waited for when what they left behind holds their output', async () => {
    const script = 'sleep 600 & echo $!; exit 3'
    const { code, stdout } = await run('vmm.ask-tool', '/bin/sh', ['-c', script], { timeoutMs: 60_000 })
    process.kill(Number(stdout), 'SIGKILL')
    expect(code).toBe(3)
  })

  it('a missing one is ENOENT, run or detached', async () => {
    await expect(run('vmm.ask-tool', '/nonexistent', [], { timeoutMs: 1_000 })).rejects.toMatchObject({
      code: 'ENOENT',
    })
    await expect(
      detach('vmm.spawn', '/nonexistent', [], { cwd: dir, logFile: join(dir, 'log') }),
    ).rejects.toMatchObject({
      code: 'ENOENT',
    })
  })

  it.each<[string, number | null, string | null]>([
    ['exit 3', 3, null],
    ['kill -9 $$', null, 'SIGKILL'],
  ])('a detached one that ends while the agent runs says how: %s', async (script, code, signal) => {
    const { promise, resolve } = Promise.withResolvers<unknown[]>()
    const onEnd = (...end: unknown[]) => resolve(end)
    await detach('vmm.spawn', '/bin/sh', ['-c', script], { cwd: dir, logFile: join(dir, 'log'), onEnd })
    expect(await promise).toEqual([code, signal])
  })

  it.each<[string, (path: string) => Promise<unknown>]>([
    ['a named pipe', async (path) => execFileSync('mkfifo', [path])],
    ['a link to another file', (path) => symlink(join(dir, 'other'), path)],
    ['a link to itself', (path) => symlink(path, path)],
  ])('a detached one with a fresh log has %s at its place replaced', async (_, make) => {
    const log = join(dir, 'log')
    await writeFile(join(dir, 'other'), 'mine')
    await make(log)
    const { promise, resolve } = Promise.withResolvers<void>()
    await detach('vmm.spawn', '/bin/echo', ['out'], { cwd: dir, logFile: log, onEnd: () => resolve() })
    await promise
    expect([await readFile(log, 'utf8'), await readFile(join(dir, 'other'), 'utf8')]).toEqual(['out\n', 'mine'])
  })

  it('a detached one is not started where its log is a directory, or is kept and no file', async () => {
    const kept = join(dir, 'kept')
    execFileSync('mkfifo', [kept])
    const start = (logFile: string, keepLog: boolean) =>
      detach('vmm.spawn', '/bin/echo', [], { cwd: dir, logFile, keepLog })
    await expect(start(kept, true)).rejects.toThrow('it is a named pipe, not a regular file')
    await expect(start(dir, false)).rejects.toThrow('it is a directory, not a regular file')
    expect((await stat(kept)).isFIFO()).toBe(true)
  })

  it('a detached one runs in its own session and writes to its file', async () => {
    const pid = await detach('vmm.spawn', '/bin/sh', ['-c', 'echo out; echo err >&2; exec sleep 60'], {
      cwd: dir,
      logFile: join(dir, 'log'),
    })
    const session = (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ')[1]?.split(' ')[3]
    expect(session).toBe(String(pid))
    await expect.poll(() => readFile(join(dir, 'log'), 'utf8')).toBe('out\nerr\n')
    process.kill(pid, 'SIGKILL')
  })
})

describe('processes', () => {
  const processes = linuxProcesses()

  it('are known by pid, start time and boot, never by pid alone', async () => {
    const child = spawn('/bin/sleep', ['60'], { cwd: dir })
    const identity = processes.identify(child.pid!)!
    expect(processes.alive(identity)).toBe(true)
    expect(processes.cwd(child.pid!)).toBe(dir)
    for (const other of [
      { ...identity, startTime: '1' },
      { ...identity, bootId: 'earlier' },
    ]) {
      expect(processes.alive(other)).toBe(false)
      expect(processes.signal('vmm.kill', other, 'SIGKILL')).toBe(false)
    }
    expect(processes.alive(identity)).toBe(true)
    const exit = once(child, 'exit')
    expect(processes.signal('vmm.kill', identity, 'SIGKILL')).toBe(true)
    await exit
    expect(processes.alive(identity)).toBe(false)
    expect(processes.signal('vmm.kill', identity, 'SIGKILL')).toBe(false)
  })

  it('T54: a signal the kernel refuses is an error, not "gone"', () => {
    const refusing = linuxProcesses('/proc', () => {
      throw Object.assign(new Error('no'), { code: 'EPERM' })
    })
    expect(() => refusing.signal('vmm.kill', refusing.identify(process.pid)!, 'SIGKILL')).toThrow('no')
  })

  it('a zombie does not run, and a name with parentheses confuses nobody', async () => {
    const proc = join(dir, 'proc')
    const fields = (state: string) => `7 (a) b (c)) ${state} ${'0 '.repeat(18)}4242 0`
    await mkdir(join(proc, '7'), { recursive: true })
    await mkdir(join(proc, 'sys/kernel/random'), { recursive: true })
    await writeFile(join(proc, 'sys/kernel/random/boot_id'), 'boot\n')
    await writeFile(join(proc, '7/stat'), fields('S'))
    expect(linuxProcesses(proc).identify(7)).toEqual({ pid: 7, startTime: '4242', bootId: 'boot' })
    await writeFile(join(proc, '7/stat'), fields('Z'))
    expect(linuxProcesses(proc).identify(7)).toBeUndefined()
    expect(linuxProcesses(proc).identify(Number.NaN)).toBeUndefined()
  })
})

describe('log lines', () => {
  it('are lost where they cannot be written, and nothing else is', () => {
    const full = openSync('/dev/full', 'w')
    try {
      expect(() => logOutput(full, join(dir, 'agent.log'))('line\n')).not.toThrow()
    } finally {
      closeSync(full)
    }
  })

  it('of the agent itself fill its log up to the bound, then start it afresh and keep the one before', async () => {
    const log = join(dir, 'agent.log')
    await writeFile(log, 'x'.repeat(LOG_LIMIT_BYTES - 10))
    const fd = openSync(log, 'a')
    try {
      const write = logOutput(fd, log)
      for (const line of ['the last\n', 'the first\n', 'the second\n']) write(line)
      expect(await readFile(log, 'utf8')).toBe('the first\nthe second\n')
      expect((await readTail(`${log}.1`, 10)).toString()).toBe('xthe last\n')
      expect((await stat(`${log}.1`)).size).toBe(LOG_LIMIT_BYTES - 1)
    } finally {
      closeSync(fd)
    }
  })

  it('are bounded too where the log before cannot be kept', async () => {
    const log = join(dir, 'agent.log')
    await writeFile(log, 'x'.repeat(LOG_LIMIT_BYTES))
    await mkdir(`${log}.1`)
    const fd = openSync(log, 'a')
    try {
      logOutput(fd, log)('the first\n')
      expect(await readFile(log, 'utf8')).toBe('the first\n')
    } finally {
      closeSync(fd)
    }
  })

  it("in a file of somebody else's are only added", async () => {
    const [log, other] = [join(dir, 'agent.log'), join(dir, 'other')]
    await writeFile(log, '')
    await writeFile(other, 'x'.repeat(LOG_LIMIT_BYTES))
    const fd = openSync(other, 'a')
    try {
      logOutput(fd, log)('line\n')
      expect((await stat(other)).size).toBe(LOG_LIMIT_BYTES + 5)
    } finally {
      closeSync(fd)
    }
  })
})

describe('the lock of a state directory', () => {
  it('goes to one of many that find a dead holder', async () => {
    const path = join(dir, 'agent.lock')
    await symlink('4194999:1:another-boot', path)
    const starters = [process.pid, process.ppid]
    const taken = await Promise.allSettled(
      [...starters, ...starters, ...starters].map((pid) => takeLock(path, linuxProcesses(), pid)),
    )
    expect(taken.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    expect((await readdir(dir)).filter((name) => name.startsWith('agent.lock'))).toEqual(['agent.lock'])
  })

  it('takes away what one left that died while it broke another', async () => {
    const path = join(dir, 'agent.lock')
    await symlink('4194999:1:another-boot', `${path}.break`)
    const release = await takeLock(path, linuxProcesses())
    expect(await readdir(dir)).toEqual(['agent.lock'])
    await release()
  })

  it('is not let go by one that lost it', async () => {
    const path = join(dir, 'agent.lock')
    const release = await takeLock(path, linuxProcesses())
    await rm(path)
    await symlink('1:2:3', path)
    await release()
    expect(await readlink(path)).toBe('1:2:3')
  })

  const processes = linuxProcesses()

  it('is held once, given back, and taken from the dead', async () => {
    const path = join(dir, 'agent.lock')
    const release = await takeLock(path, processes)
    await expect(takeLock(path, processes)).rejects.toMatchObject({
      code: 'agent/already-running',
      params: { dir, pid: String(process.pid) },
    })
    await release()
    await symlink(`${process.pid}:1:${processes.bootId()}`, path)
    await (await takeLock(path, processes))()
    await writeFile(path, 'torn')
    await (await takeLock(path, processes))()
    expect(await readdir(dir)).toEqual([])
  })
})

describe('unix sockets', () => {
  it('are reached however long the path of their directory is', async () => {
    const deep = join(dir, 'd'.repeat(100), 'e'.repeat(100))
    await mkdir(deep, { recursive: true })
    const child = spawn(
      process.execPath,
      ['-e', 'require("net").createServer(s => s.end("hi")).listen("x.sock", () => console.log(1))'],
      {
        cwd: deep,
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    )
    await once(child.stdout, 'data')
    const socket = await connectUnix(deep, 'x.sock', 5_000)
    const [text] = (await once(socket, 'data')) as [Buffer]
    expect(text.toString()).toBe('hi')
    child.kill('SIGKILL')
    await once(child, 'exit')
    await expect(connectUnix(deep, 'x.sock', 5_000)).rejects.toMatchObject({ code: 'ECONNREFUSED' })
    await expect(connectUnix(deep, 'none.sock', 5_000)).rejects.toMatchObject({ code: 'ENOENT' })
  })

  it('a peer that dies before anybody listens for it ends the socket, not the process', async () => {
    const script = 'require("net").createServer().listen("x.sock", () => console.log(1))'
    const child = spawn(process.execPath, ['-e', script], { cwd: dir, stdio: ['ignore', 'pipe', 'inherit'] })
    await once(child.stdout, 'data')
    child.kill('SIGSTOP')
    const socket = await connectUnix(dir, 'x.sock', 5_000)
    socket.write('never read')
    child.kill('SIGKILL')
    // Without `error` there is an answer too: that is what a peer that is gone looks like.
    const closed = new Promise<boolean>((resolve) => socket.once('close', resolve))
    expect(await closed).toBe(true)
    expect(socket.errored).toMatchObject({ code: expect.stringMatching(/ECONNRESET|EPIPE/) })
  })
})
