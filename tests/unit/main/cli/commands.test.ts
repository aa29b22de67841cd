import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { create } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Fault } from '../../../../src/ipc/faults.ts'
import { FaultSchema } from '../../../../src/ipc/gen/eitri/fleet/v1/fault_pb.js'
import { NewerDataSchema } from '../../../../src/ipc/gen/eitri/fleet/v1/host_pb.js'
import { SecretQuestionSchema, TaskSchema } from '../../../../src/ipc/gen/eitri/fleet/v1/task_pb.js'
import { runCli } from '../../../../src/main/cli/cli.ts'
import type { CliParts } from '../../../../src/main/cli/context.ts'
import { FakeFleetServer, idOf } from '../../../support/fake-fleet-server.ts'
import { FakeTerminal } from '../../../support/fake-terminal.ts'

const NOW = Date.parse('2026-01-02T03:04:05Z')
let fleet: FakeFleetServer

beforeEach(async () => {
  fleet = await FakeFleetServer.start()
})
afterEach(() => fleet.stop())

function parts(io: FakeTerminal): CliParts {
  return {
    io,
    now: () => NOW,
    apiSocket: () => fleet.socketPath,
    embed: async () => ({ async stop() {} }),
    async serve() {},
  }
}

function start(argv: string[], io = new FakeTerminal()) {
  return { io, code: runCli(argv, parts(io)) }
}

async function eitri(...argv: string[]) {
  const { io, code } = start(argv)
  io.stdin.end()
  return { code: await code, out: io.out, err: io.err, json: () => JSON.parse(io.out) as any }
}

describe('a data folder no socket fits into', () => {
  it('is a usage fault with a sentence', async () => {
    const io = new FakeTerminal()
    const apiSocket = () => {
      throw new Fault('input/invalid', 'permanent', { field: 'data_dir', problem: 'use a shorter folder', value: '/x' })
    }
    expect(await runCli(['vm', 'list', '--data-dir', '/x'], { ...parts(io), apiSocket })).toBe(2)
    expect(io.err).toMatch(/^data_dir "\/x" is not valid: use a shorter folder\./)
  })
})

describe('output nobody can take', () => {
  it.each([
    ['EPIPE', 0, ''],
    ['ENOSPC', 1, 'Standard output cannot be written (ENOSPC). What was asked for went on; look at it again.\n'],
  ])('%s ends the command with %i and no stack', async (errno, code, said) => {
    const io = new FakeTerminal()
    vi.spyOn(io.stdout, 'write').mockImplementation(((_: unknown, done?: (error: Error) => void) => {
      const error = Object.assign(new Error('write'), { code: errno, syscall: 'write' })
      done?.(error)
      io.stdout.emit('error', error)
      return false
    }) as never)
    expect(await start(['vm', 'list'], io).code).toBe(code)
    expect(io.err).toBe(said)
  })
})

describe('answers', () => {
  it('are the messages in proto JSON, snake_case, zero values and 64-bit strings included', async () => {
    fleet.vm({ name: 'web-1', memMb: 96 })
    const { code, json, err } = await eitri('vm', 'list', '--json')
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(json().vms[0]).toMatchObject({ name: 'web-1', mem_mb: 96, vcpus: 0, host_unknown: false, labels: {} })
    expect(json().vms[0]).not.toHaveProperty('power')
  })

  it('are the thing itself for one thing', async () => {
    const { id } = fleet.vm({ name: 'web-1' })
    expect((await eitri('vm', 'show', 'web-1', '--json')).json()).toMatchObject({ id, name: 'web-1' })
    expect((await eitri('vm', 'show', id, '--json')).json()).toMatchObject({ name: 'web-1' })
  })

  it('are a table or a sheet for people', async () => {
    fleet.vm({ name: 'web-1', hostName: 'rack2', lifecycle: 'ready' })
    expect((await eitri('vm', 'list')).out).toMatch(/^NAME +STATE.*\nweb-1 +ready +rack2/)
    expect((await eitri('vm', 'show', 'web-1')).out).toMatch(/^name: +web-1\n/)
  })

  it('say of a VM how long its quarantine lasts, and that one is not in this fleet', async () => {
    fleet.vm({ name: 'gone', quarantineEndsAt: timestampFromDate(new Date('2026-01-08T00:00:00Z')) })
    fleet.vm({ name: 'stray', unowned: true })
    const { out } = await eitri('vm', 'list')
    expect(out).toMatch(/\ngone .*in quarantine until 2026-01-08T00:00:00.000Z\n/)
    expect(out).toMatch(/\nstray .*runs there, not in this fleet\n/)
  })

  it('take options before and after the command', async () => {
    expect((await eitri('--json', 'host', 'list')).json()).toEqual({ hosts: [] })
    expect((await eitri('host', '--json', 'list')).json()).toEqual({ hosts: [] })
    expect((await eitri('host', 'list', '--json', '--timeout', '5s')).json()).toEqual({ hosts: [] })
  })

  it('show text from a host without its control characters', async () => {
    fleet.vm({ name: 'web-1', detail: '\x1b[31mred\x07' })
    expect((await eitri('vm', 'list')).out).toContain('red')
    expect((await eitri('vm', 'list')).out).not.toMatch(/[\x1b\x07]/)
  })
})

describe('a command line that is wrong', () => {
  it.each([
    ['vm', 'create', '-rf'],
    ['vm', 'create', '--', '-rf'],
    ['vm', 'create', '$(id)'],
    ['vm', 'create', 'a'.repeat(64)],
    ['vm', 'create', 'Web'],
    ['vm', 'show', '--', '-rf'],
    ['vm', 'show', '$(id)'],
    ['vm', 'start', 'a'.repeat(64)],
    ['host', 'add', '--local', '--', '-rf'],
    ['host', 'add', 'a', '--ssh', '-oProxyCommand=id'],
    ['host', 'add', 'a', '--ssh', 'u@$(id)'],
    ['host', 'add', 'a', '--ssh='],
    ['host', 'add', 'a', '--ssh', 'rack:70000'],
    ['host', 'add', 'a'],
    ['host', 'add', 'a', '--local', '--ssh', 'b'],
    ['host', 'add', 'a', '--ssh', 'b', '--accept-host-key', 'nonsense'],
    ['vm', 'create', 'a', '--vcpus', '0'],
    ['vm', 'create', 'a', '--mem-mb', '-1'],
    ['vm', 'create', 'a', '--disk-gb', 'many'],
    ['vm', 'create', 'a', '--image-url', 'https://example.org/i'],
    ['vm', 'create', 'a', '--image-url', 'https://example.org/i', '--image-sha256', 'abc'],
    ['vm', 'create', 'a', '--label', 'novalue'],
    ['vm', 'create', 'a', '--cloud-init', '/nonexistent/file'],
    ['vm', 'create', 'a', '--cloud-init', '/dev/zero'],
    ['vm', 'create', 'a', '--ssh-key', '/dev/zero'],
    ['vm', 'create', 'a', '--wait', 'happy'],
    ['vm', 'wait', 'a'],
    ['vm', 'wait', 'a', '--state', 'happy'],
    ['vm', 'purge', 'a'],
    ['vm'],
    ['vm', 'fly', 'a'],
    ['vm', 'list', '--timeout', 'soon'],
    ['console', 'a', '--from', '1', '--tail', '2'],
    ['serve', '--listen', '0.0.0.0:80'],
    ['nonsense'],
  ])('exits with 2 and one clear sentence: %s %s %s %s %s', async (...argv) => {
    const { code, out, err } = await eitri(...argv)
    expect(code).toBe(2)
    expect(out).toBe('')
    expect(err.trim().split('\n').at(-1)).toMatch(/^\S.*[.!"]$/)
    expect(err).not.toMatch(/ {4}at |undefined|\[object/)
    expect([fleet.created, fleet.added, fleet.addedImages, fleet.calls]).toEqual([[], [], [], []])
  })

  it('says what a name may be', async () => {
    const { err } = await eitri('vm', 'create', '--', '-rf')
    expect(err).toBe(
      'name "-rf" is not valid: use 1 to 63 lower-case letters, digits and hyphens; start and end with a letter or digit. Nothing was changed. Correct it and try again.\n',
    )
  })

  it('says of a short unknown option that a name cannot look like one, and only of that', async () => {
    expect((await eitri('vm', 'create', '-rf')).err).toMatch(
      /^Unknown option '-rf'\. A name cannot start with a hyphen/,
    )
    expect((await eitri('vm', 'list', '--colour')).err).toBe(
      'Unknown option \'--colour\'. Nothing was changed. See "eitri --help".\n',
    )
  })

  it('never shows a password', async () => {
    const { io, code } = start(['host', 'add', 'a', '--ssh', 'b', '--password-stdin'])
    io.stdin.end(`${'s3cret'.repeat(400)}\n`)
    expect(await code).toBe(2)
    expect(io.err).not.toContain('s3cret')
  })
})

describe('a command that fails', () => {
  it('exits with 1 and says what, its effect and what to do', async () => {
    const { code, err } = await eitri('vm', 'show', 'nobody')
    expect({ code, err }).toEqual({
      code: 1,
      err: 'There is no VM nobody. Nothing was changed. See the names with "eitri vm list".\n',
    })
  })

  it('says unknown of a VM its host says nothing of, and the desired state only to scripts', async () => {
    fleet.vm({ name: 'web-1', hostName: 'rack2', lifecycle: 'ready', power: undefined })
    expect((await eitri('vm', 'list')).out).toMatch(/web-1 +unknown .*rack2 says nothing of it; see "eitri host show/)
    expect((await eitri('vm', 'show', 'web-1')).out).toMatch(/state: +unknown\npower: +unknown\n/)
    expect((await eitri('vm', 'show', 'web-1', '--json')).json()).toMatchObject({ lifecycle: 'ready' })
  })

  it('exits with 3 and names the socket when no control plane answers', async () => {
    await fleet.pause()
    const { code, err } = await eitri('vm', 'list', '--json')
    expect(code).toBe(3)
    expect(err).toContain(fleet.socketPath)
    await fleet.listen()
  })
})

describe('vm create', () => {
  it('sends what was given and leaves the rest to the control plane', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'eitri-cli-'))
    await writeFile(join(dir, 'user-data'), '#cloud-config\n')
    await writeFile(join(dir, 'keys'), '# mine\nssh-ed25519 AAAAC3Nz me@here\n\n')
    const files = ['--cloud-init', join(dir, 'user-data'), '--ssh-key', join(dir, 'keys')]
    const sizes = ['--vcpus', '2', '--label', 'a=b', '--label', 'c=d=e', '--no-autostart', '--if-absent']
    const { code } = await eitri('vm', 'create', 'web-1', '--host', 'rack2', ...sizes, ...files)
    await rm(dir, { recursive: true })
    expect(code).toBe(0)
    const [request] = fleet.created
    expect(request).toMatchObject({
      name: 'web-1',
      host: 'rack2',
      vcpus: 2,
      labels: { a: 'b', c: 'd=e' },
      autostart: false,
      ifAbsent: true,
      power: 'running',
      sshAuthorizedKeys: ['ssh-ed25519 AAAAC3Nz me@here'],
    })
    expect(request).not.toHaveProperty('memMb')
    expect(Buffer.from(request!.cloudInit).toString()).toBe('#cloud-config\n')
  })

  it('passes on that the name is taken', async () => {
    fleet.vm({ name: 'web-1' })
    const { code, err } = await eitri('vm', 'create', 'web-1')
    expect({ code, err }).toMatchObject({ code: 1, err: expect.stringContaining('vm name already in use: web-1') })
  })

  it('waits until the VM is ready', async () => {
    const { io, code } = start(['vm', 'create', 'web-1', '--wait', '--json'])
    await expect.poll(() => fleet.watchers).toBe(1)
    const [vm] = fleet.vms.values()
    fleet.vm({ ...vm!, detail: 'Copy image' })
    fleet.vm({ ...vm!, lifecycle: 'ready' })
    expect(await code).toBe(0)
    expect(JSON.parse(io.out)).toMatchObject({ name: 'web-1', lifecycle: 'ready' })
  })

  it("ends with the host's own words when the VM fails", async () => {
    const { io, code } = start(['vm', 'create', 'web-1', '--wait'])
    await expect.poll(() => fleet.watchers).toBe(1)
    const [vm] = fleet.vms.values()
    const detail = 'The bytes of tiny do not match its SHA-256.'
    fleet.vm({ ...vm!, lifecycle: 'failed', reason: 'image/digest-mismatch', detail })
    expect(await code).toBe(1)
    expect(io.err).toBe(`${detail} It was thrown away; no VM saw it. Check the URL and the digest.\n`)
  })

  it('exits with 4 when it is still going on at the deadline', async () => {
    const { code, err } = await eitri('vm', 'create', 'web-1', '--wait', 'ready', '--timeout', '50ms')
    expect({ code, err }).toMatchObject({ code: 4, err: expect.stringContaining('Not done within 0.05 s') })
  })
})

describe('waiting', () => {
  it('is over at once for a state the VM is in, and for a VM that is gone', async () => {
    fleet.vm({ name: 'web-1', lifecycle: 'stopped' })
    expect((await eitri('vm', 'wait', 'web-1', '--state', 'stopped', '--json')).json()).toMatchObject({ name: 'web-1' })
    expect((await eitri('vm', 'wait', 'nobody', '--state', 'gone', '--json')).json()).toMatchObject({
      lifecycle: 'gone',
    })
    expect((await eitri('vm', 'wait', 'nobody', '--state', 'ready')).code).toBe(1)
  })

  it('follows the VM over a restart of the control plane', async () => {
    const vm = fleet.vm({ name: 'web-1', lifecycle: 'creating' })
    const { code } = start(['vm', 'wait', 'web-1', '--state', 'ready'])
    await expect.poll(() => fleet.watchers).toBe(1)
    await fleet.pause()
    await fleet.listen()
    fleet.vm({ ...vm, lifecycle: 'ready' })
    expect(await code).toBe(0)
  })

  it.each([
    ['start', { lifecycle: 'ready', detail: 'stopping' }],
    ['stop', { lifecycle: 'stopped', detail: 'booting' }],
  ])('of a %s does not take what another is just undoing for the end', async (command, seen) => {
    const vm = fleet.vm({ name: 'web-1', ...seen })
    const { code, io } = start(['vm', command, 'web-1', '--wait', '--json'])
    await expect.poll(() => fleet.watchers).toBe(1)
    fleet.vm({ ...vm, detail: '', vcpus: 7 })
    expect(await code).toBe(0)
    expect(JSON.parse(io.out)).toMatchObject({ detail: '', vcpus: 7 })
  })

  it('does not take the wanted state of a VM its host says nothing of for the present one', async () => {
    const vm = fleet.vm({ name: 'web-1', lifecycle: 'stopped', power: undefined })
    const wait = ['vm', 'wait', 'web-1', '--state', 'stopped', '--timeout']
    expect(await start([...wait, '100ms']).code).toBe(4)
    fleet.vm({ ...vm, power: 'stopped' })
    expect(await start([...wait, '10s']).code).toBe(0)
  })

  it('does not take a last known state for the present one', async () => {
    const vm = fleet.vm({ name: 'web-1', lifecycle: 'ready', hostUnknown: true })
    const { code, io } = start(['vm', 'wait', 'web-1', '--state', 'ready'])
    await expect.poll(() => fleet.watchers).toBe(1)
    expect(io.out).toBe('')
    fleet.vm({ ...vm, hostUnknown: false })
    expect(await code).toBe(0)
  })

  it('shows both addresses of a VM on a network of the operator, and that one is not known yet', async () => {
    const vm = fleet.vm({ name: 'web-1', ip: '10.77.0.5', network: 'lan' })
    const shown = async () => {
      const { code, io } = start(['vm', 'show', 'web-1'])
      expect(await code).toBe(0)
      return io.out
    }
    expect(await shown()).toMatch(/address: +10\.77\.0\.5\non lan: +not known yet\n/)
    fleet.vm({ ...vm, networkIp: '192.168.1.57' })
    expect(await shown()).toMatch(/on lan: +192\.168\.1\.57\n/)
  })

  it('prints the address it waited for', async () => {
    const vm = fleet.vm({ name: 'web-1' })
    const { code, io } = start(['vm', 'wait', 'web-1', '--address'])
    await expect.poll(() => fleet.watchers).toBe(1)
    fleet.vm({ ...vm, networkIp: '10.77.0.5' })
    expect(await code).toBe(0)
    expect(io.out).toBe('10.77.0.5\n')
  })

  it('needs a new start of the VM after a restart', async () => {
    const vm = fleet.vm({ name: 'web-1', startedAt: timestampFromDate(new Date(1000)) })
    const { code, io } = start(['vm', 'restart', 'web-1', '--wait'])
    await expect.poll(() => fleet.watchers).toBe(1)
    expect(io.out).toBe('')
    fleet.vm({ ...vm, startedAt: timestampFromDate(new Date(2000)) })
    expect(await code).toBe(0)
  })
})

describe('deleting', () => {
  it('goes to quarantine and comes back, under another name if asked', async () => {
    fleet.vm({ name: 'web-1' })
    expect((await eitri('vm', 'delete', 'web-1', '--json')).json()).toMatchObject({ lifecycle: 'deleting' })
    expect((await eitri('vm', 'undelete', 'web-1', '--as', 'web-2', '--json')).json()).toMatchObject({ name: 'web-2' })
  })

  it('purges only when told --yes, and waits until nothing is left', async () => {
    const { id } = fleet.vm({ name: 'web-1', deletedAt: timestampFromDate(new Date(1)) })
    expect((await eitri('vm', 'purge', 'web-1')).code).toBe(2)
    expect(fleet.calls).toEqual([])
    expect((await eitri('vm', 'purge', 'web-1', '--yes', '--wait', '--json')).json()).toEqual({ id, purged: true })
  })

  it('asks a person before it purges', async () => {
    fleet.vm({ name: 'web-1', deletedAt: timestampFromDate(new Date(1)) })
    const no = start(['vm', 'purge', 'web-1'], new FakeTerminal({ tty: true }))
    await no.io.until(() => no.io.err.includes('[y/N]'))
    no.io.type('n\r')
    expect(await no.code).toBe(1)
    const yes = start(['vm', 'purge', 'web-1'], new FakeTerminal({ tty: true }))
    await yes.io.until(() => yes.io.err.includes('[y/N]'))
    yes.io.type('yes\r')
    expect(await yes.code).toBe(0)
    expect(fleet.calls).toEqual(['purge web-1'])
  })
})

describe('host add', () => {
  it('reads USER@HOST:PORT and the secrets of standard input', async () => {
    const { io, code } = start([
      'host',
      'add',
      'rack2',
      '--ssh',
      'ops@10.0.0.7:2222',
      '--password-stdin',
      '--sudo',
      '--json',
    ])
    io.stdin.end('one\ntwo\n')
    expect(await code).toBe(0)
    expect(JSON.parse(io.out)).toMatchObject({ name: 'rack2', link: 'connected' })
    expect(fleet.added[0]?.way).toMatchObject({
      case: 'ssh',
      value: {
        host: '10.0.0.7',
        user: 'ops',
        port: 2222,
        password: 'one',
        passphrase: 'one',
        sudoPassword: 'two',
        useSudo: true,
      },
    })
  })

  it('says the steps as they go', async () => {
    fleet.task = { state: 'done', steps: [{ name: 'Reach address', state: 'done', detail: '12 ms' }] }
    const { code, err } = await eitri('host', 'add', 'here', '--local')
    expect({ code, err }).toEqual({ code: 0, err: 'Reach address done (12 ms)\n' })
  })

  it('ends with the fault of a task that failed', async () => {
    fleet.task = {
      state: 'failed',
      fault: {
        code: 'ssh/auth-refused',
        disposition: 'permanent',
        params: { address: 'ops@rack2', methods: 'publickey' },
      },
    }
    const { code, err } = await eitri('host', 'add', 'rack2', '--ssh', 'rack2', '--json')
    expect(code).toBe(1)
    expect(err).toBe(
      'ops@rack2 refused the sign-in (tried publickey). Nothing was changed. Check the user, the key or the password.\n',
    )
  })

  it('exits with 3 when the host lacks packages and nobody can be asked', async () => {
    const value = { missing: ['qemu-system-x86'], command: 'apt-get install qemu-system-x86' }
    fleet.task = { state: 'asking', question: { id: 'q1', kind: { case: 'packages', value } } }
    const { code, err } = await eitri('host', 'add', 'rack2', '--ssh', 'rack2', '--json')
    expect({ code, err }).toMatchObject({ code: 3, err: expect.stringContaining('apt-get install qemu-system-x86') })
    expect(fleet.cancelled).toHaveLength(1)
  })

  it('refuses an unknown host key by itself, and ends the task', async () => {
    const value = { host: 'rack2', keyType: 'ssh-ed25519', fingerprint: 'SHA256:abc' }
    fleet.task = { state: 'asking', question: { id: 'q1', kind: { case: 'hostKey', value } } }
    const { code, err } = await eitri('host', 'add', 'rack2', '--ssh', 'rack2', '--json')
    expect({ code, err }).toMatchObject({
      code: 1,
      err: expect.stringContaining('nobody here has accepted: SHA256:abc'),
    })
    expect(err.trim().split('\n')).toHaveLength(1)
    expect(fleet.answers).toEqual([])
    expect(fleet.cancelled).toHaveLength(1)
  })

  it('asks a person for a host key and for a password it does not show', async () => {
    const key = { host: 'rack2', keyType: 'ssh-ed25519', fingerprint: 'SHA256:abc' }
    fleet.task = { state: 'asking', question: { id: 'q1', kind: { case: 'hostKey', value: key } } }
    fleet.onAnswer = ({ taskId, questionId }) => {
      const [task] = fleet.tasks.values()
      const secret = create(SecretQuestionSchema, { what: 'password', of: 'ops@rack2' })
      if (questionId === 'q1')
        fleet.tasks.set(taskId, {
          ...task!,
          question: { ...task!.question!, id: 'q2', kind: { case: 'secret', value: secret } },
        })
      else fleet.tasks.set(taskId, { ...task!, state: 'done' })
      fleet.push()
    }
    const { io, code } = start(['host', 'add', 'rack2', '--ssh', 'rack2'], new FakeTerminal({ tty: true }))
    await io.until(() => io.err.includes('Trust it? [y/N]'))
    io.type('y\r')
    await io.until(() => io.err.includes('Password for ops@rack2:'))
    io.type('huntex\x7fr2\r')
    expect(await code).toBe(0)
    expect(fleet.answers.map((a) => a.answer.value)).toEqual(['SHA256:abc', 'hunter2'])
    expect(io.err).not.toContain('hunt')
    expect(io.raw.at(-1)).toBe(false)
  })

  it('ends the task when a person interrupts', async () => {
    fleet.task = { state: 'running' }
    const { io, code } = start(['host', 'add', 'here', '--local'])
    await expect.poll(() => fleet.watchers).toBe(1)
    io.interrupt()
    expect(await code).toBe(1)
    expect(io.err).toContain('Cancelled.')
    expect(fleet.cancelled).toHaveLength(1)
  })

  it('leaves a task going that is only slower than --timeout', async () => {
    fleet.task = { state: 'running' }
    expect((await eitri('host', 'add', 'here', '--local', '--timeout', '50ms')).code).toBe(4)
    expect(fleet.cancelled).toEqual([])
  })

  it('says what a removal leaves behind', async () => {
    const { json } = await eitri('host', 'remove', 'rack2', '--force', '--json')
    expect(json()).toEqual({ left_behind: ['web-1'] })
    expect(fleet.calls).toEqual(['removeHost rack2 true false'])
  })
})

describe('the other nouns', () => {
  it('accepts the changed key of a host by its fingerprint, and says in host show why one is needed', async () => {
    const fingerprint = `SHA256:${'n'.repeat(43)}`
    await eitri('host', 'add', 'rack', '--local')
    const host = [...fleet.hosts.values()][0]!
    host.link = 'key_changed'
    const changed = { code: 'ssh/host-key-changed', disposition: 'permanent', id: 'x', params: { fingerprint } }
    host.linkFault = create(FaultSchema, changed)
    expect((await eitri('host', 'show', 'rack')).out).toMatch(
      /^why: +rack answered with a different host key: SHA256:n/m,
    )
    expect((await eitri('host', 'accept-key', 'rack', fingerprint, '--json')).json()).toMatchObject({ name: 'rack' })
    expect(fleet.calls).toContain(`acceptHostKey rack ${fingerprint}`)
    expect(await eitri('host', 'accept-key', 'rack', 'aa:bb')).toMatchObject({ code: 2 })
  })

  it('takes a host over from the control plane that holds it, asked or told so, and waits for the host', async () => {
    await eitri('host', 'add', 'rack', '--local')
    const host = [...fleet.hosts.values()][0]!
    host.link = 'held_by_other'
    const held = { code: 'agent/foreign-controller', disposition: 'permanent', id: 'x', params: { controller: 'desk' } }
    host.linkFault = create(FaultSchema, held)
    const asked = await eitri('host', 'takeover', 'rack')
    expect(asked).toMatchObject({ code: 2, err: expect.stringMatching(/desk.*keep running/) })
    expect(fleet.calls.filter((call) => call.startsWith('takeOver'))).toEqual([])
    const taken = await eitri('host', 'takeover', 'rack', '--yes', '--json')
    expect(taken.json()).toMatchObject({ name: 'rack', link: 'connected' })
    expect(fleet.calls).toContain('takeOverHost rack false')
  })

  it.each([
    ['--local', []],
    ['--ssh', ['rack.example']],
  ])('adds a host by %s that another control plane holds, when told so', async (way, where) => {
    await eitri('host', 'add', 'rack', way, ...where, '--take-over')
    await eitri('host', 'add', 'mine', way, ...where)
    expect(fleet.added.map(({ way }) => way.value?.takeOver)).toEqual([true, false])
  })

  it('says why a host could not be taken over', async () => {
    await eitri('host', 'add', 'rack', '--local')
    const fault = (id: string, code: string) => create(FaultSchema, { id, code, disposition: 'transient' })
    const host = [...fleet.hosts.values()][0]!
    host.link = 'held_by_other'
    host.linkFault = fault('x', 'agent/foreign-controller')
    fleet.onTakeOver = (h) => Object.assign(h, { link: 'unreachable', linkFault: fault('y', 'host/unreachable') })
    const taken = await eitri('host', 'takeover', 'rack', '--yes')
    expect(taken).toMatchObject({ code: 1, err: expect.stringContaining('No answer from') })
  })

  it('uses its older data on a host that has seen newer, with the counts in the question', async () => {
    await eitri('host', 'add', 'rack', '--local')
    const host = [...fleet.hosts.values()][0]!
    host.newerData = create(NewerDataSchema, { epoch: 6n, hostEpoch: 7n, unknownVms: 3, missingVms: 1, deletedVms: 2 })
    const asked = await eitri('host', 'takeover', 'rack', '--from-older')
    expect(asked.err).toMatch(/3 VMs there .* unowned.* 1 that are not there .* 2 that it has deleted/)
    const used = await eitri('host', 'takeover', 'rack', '--from-older', '--yes', '--json')
    expect(used.json().newer_data).toBeUndefined()
    expect(fleet.calls).toContain('takeOverHost rack true')
  })

  it('lists, shows and cancels tasks', async () => {
    const running = create(TaskSchema, { id: idOf(9), kind: 'add_host', subject: 'here', state: 'running' })
    fleet.tasks.set(running.id, running)
    const { tasks } = (await eitri('task', 'list', '--json')).json()
    expect(tasks).toMatchObject([{ kind: 'add_host', subject: 'here', state: 'running' }])
    expect((await eitri('task', 'show', tasks[0].id, '--json')).json()).toMatchObject({ id: tasks[0].id })
    expect((await eitri('task', 'cancel', tasks[0].id)).code).toBe(0)
    expect(fleet.cancelled).toEqual([tasks[0].id])
  })

  it('reads the audit trail since a moment or a while ago', async () => {
    expect((await eitri('audit', '--vm', idOf(7), '--since', '2h', '--json')).json().entries).toHaveLength(1)
    await eitri('audit', '--since', '2026-01-01T00:00:00Z')
    expect(fleet.audits[0]?.vm).toBe(idOf(7))
    expect(fleet.audits.map((a) => Number(a.since?.seconds) * 1000)).toEqual([
      NOW - 2 * 3_600_000,
      Date.parse('2026-01-01T00:00:00Z'),
    ])
  })

  it('calls a moment it cannot read wrong usage, not a fault of its own', async () => {
    const { code, err } = await eitri('audit', '--since', 'bogus')
    expect(code).toBe(2)
    expect(err).toContain('since "bogus" is not valid')
  })

  it('says its version', async () => {
    expect((await eitri('version', '--json')).json()).toEqual({ version: '0.1.0-dev' })
    expect((await eitri('version')).out).toBe('0.1.0-dev\n')
  })

  it('helps, and that is no failure', async () => {
    const { code, out } = await eitri('vm', 'create', '--help')
    expect(code).toBe(0)
    expect(out).toContain('--mem-mb')
    expect((await eitri('--help')).out).toContain('4 not done in time')
  })
})
