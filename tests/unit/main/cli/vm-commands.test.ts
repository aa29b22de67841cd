import { create } from '@bufbuild/protobuf'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { FaultSchema } from '../../../../src/ipc/gen/eitri/fleet/v1/fault_pb.js'
import { type Host, HostSchema } from '../../../../src/ipc/gen/eitri/fleet/v1/host_pb.js'
import { runCli } from '../../../../src/main/cli/cli.ts'
import { FakeFleetServer, idOf } from '../../../support/fake-fleet-server.ts'
import { FakeTerminal } from '../../../support/fake-terminal.ts'

let fleet: FakeFleetServer
beforeEach(async () => {
  fleet = await FakeFleetServer.start()
})
afterEach(() => fleet.stop())

function start(...argv: string[]) {
  const io = new FakeTerminal()
  io.stdin.end()
  const code = runCli(argv, {
    io,
    now: () => 0,
    apiSocket: () => fleet.socketPath,
    embed: async () => ({ async stop() {} }),
    async serve() {},
  })
  return { io, code }
}

async function eitri(...argv: string[]) {
  const run = start(...argv)
  const { io } = run
  const code = await run.code
  return { code, out: io.out, err: io.err, json: () => JSON.parse(io.out) as any }
}

describe('a VM of no fleet', () => {
  const stray = () => fleet.vm({ name: 'stray', hostName: 'rack', unowned: true, lifecycle: 'ready' })

  it('is shown, with how to make it one of this fleet', async () => {
    stray()
    expect((await eitri('vm', 'show', 'stray')).out).toMatch(/^state: +ready\n.*eitri vm adopt stray/ms)
  })

  it('is adopted as it is, or under another name', async () => {
    const { id } = stray()
    expect((await eitri('vm', 'adopt', 'stray', '--json')).json()).toMatchObject({ id, name: 'stray', unowned: false })
    const other = stray()
    expect((await eitri('vm', 'adopt', other.id, '--as', 'mine', '--json')).json()).toMatchObject({ name: 'mine' })
    expect((await eitri('vm', 'adopt', other.id, '--as', '-x')).code).toBe(2)
  })

  it('has no console until then', async () => {
    stray()
    const { code, err } = await eitri('console', 'stray', '--no-follow')
    expect({ code, err }).toMatchObject({ code: 1, err: expect.stringContaining('eitri vm adopt stray') })
  })

  it('never stands for one of this fleet that has its name', async () => {
    stray()
    const { id } = fleet.vm({ name: 'stray', lifecycle: 'stopped' })
    expect((await eitri('vm', 'wait', 'stray', '--state', 'stopped', '--json')).json()).toMatchObject({ id })
  })
})

describe('a VM in trouble', () => {
  it('is shown with what happened, what that means and what to do', async () => {
    const detail = 'web-1 ended 3 times in a row (Guest panicked).'
    fleet.vm({ name: 'web-1', lifecycle: 'failed', reason: 'vm/crash-loop', detail })
    const [line] = (await eitri('vm', 'show', 'web-1')).out.match(/^detail: .*$/m) ?? []
    expect(line).toContain(`${detail} `)
    expect(line).toMatch(/Look at its console/)
  })
})

describe('waiting for what a host says', () => {
  const HOST_ID = idOf(900)
  function aHost(init: Partial<Omit<Host, '$typeName'>> = {}) {
    fleet.hosts.set(HOST_ID, create(HostSchema, { id: HOST_ID, name: 'rack', link: 'connected', epoch: 7n, ...init }))
    fleet.push()
  }
  const fault = (code: string, params: Record<string, string> = {}) =>
    create(FaultSchema, { id: 'x', code, disposition: 'transient', params })

  it('takes no report for an answer that was made before its host knew what was asked', async () => {
    aHost({ reportedEpoch: 6n })
    const vm = fleet.vm({ name: 'web', hostId: HOST_ID, lifecycle: 'ready' })
    const { code } = start('vm', 'undelete', vm.id, '--wait')
    await expect.poll(() => fleet.watchers).toBe(1)
    fleet.vm({ ...vm, detail: 'as before' })
    aHost({ reportedEpoch: 7n, epoch: 8n })
    expect(await code).toBe(0)
    expect((await eitri('vm', 'wait', 'web', '--state', 'ready', '--timeout', '100ms')).code).toBe(4)
  })

  it('is not over while a VM comes back from quarantine', async () => {
    const vm = fleet.vm({ name: 'web', lifecycle: 'stopped', detail: 'coming back from quarantine' })
    const wait = ['vm', 'wait', 'web', '--state', 'stopped', '--timeout']
    expect((await eitri(...wait, '100ms')).code).toBe(4)
    fleet.vm({ ...vm, detail: '' })
    expect((await eitri(...wait, '10s')).code).toBe(0)
  })

  it('takes the failure a VM was started out of for none of this start', async () => {
    aHost({ reportedEpoch: 7n })
    const vm = fleet.vm({ name: 'web', hostId: HOST_ID })
    fleet.onStart = { lifecycle: 'failed', reason: 'vm/crash-loop', detail: 'web ended.' }
    const { code, io } = start('vm', 'start', vm.id, '--wait')
    await expect.poll(() => fleet.watchers).toBe(1)
    fleet.vm({ ...vm, vcpus: 7 })
    expect([await code, io.err]).toEqual([0, ''])
  })

  it.each([
    ['held_by_other', fault('agent/foreign-controller', { controller: 'lap' }), /^rack is held by .*lap/],
    ['unreachable', fault('host/unreachable', { address: 'rack.example:22' }), /^No answer from rack\.example:22/],
  ])('ends at once where its host is %s, with the reason', async (link, linkFault, said) => {
    aHost({ link, linkFault })
    fleet.vm({ name: 'web', hostId: HOST_ID, hostUnknown: true })
    for (const command of [['start'], ['stop'], ['wait', '--state', 'ready'], ['wait', '--address']])
      expect(
        await eitri('vm', command[0]!, 'web', ...command.slice(1), ...(command.length > 1 ? [] : ['--wait'])),
      ).toMatchObject({ code: 1, err: expect.stringMatching(said) })
  })
})

describe('what is wrong with a command', () => {
  it.each([
    [['vm', 'create', 'a', '--disk-gb', '99999'], '--disk-gb is not valid: --disk-gb must be at most 65536.'],
    [
      ['vm', 'create', 'a', '--image-url', 'https://a.test/i'],
      '--image-sha256 is not valid: --image-url and --image-sha256',
    ],
  ])('is said in the words of the command line: %j', async (argv, said) => {
    expect(await eitri(...argv)).toMatchObject({ code: 2, err: expect.stringContaining(said) })
  })

  it.each([
    [['vm', 'purge', 'web'], 'Destroy web and its disk for good? Say yes with --yes. Nothing was changed.\n'],
    [
      ['host', 'takeover', 'rack'],
      /^Take rack over from lap\? Its VMs keep running; .* Say yes with --yes\. Nothing was changed\.\n$/,
    ],
  ])('is a yes that nobody is there to say: %j', async (argv, said) => {
    const linkFault = create(FaultSchema, { code: 'agent/foreign-controller', params: { controller: 'lap' } })
    fleet.hosts.set('h', create(HostSchema, { id: 'h', name: 'rack', link: 'held_by_other', linkFault }))
    const { code, err } = await eitri(...argv)
    expect(code).toBe(2)
    expect(err).toMatch(said)
  })
})
