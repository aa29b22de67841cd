import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { runCli } from '../../../../src/main/cli/cli.ts'
import { FakeFleetServer } from '../../../support/fake-fleet-server.ts'
import { FakeTerminal } from '../../../support/fake-terminal.ts'

let fleet: FakeFleetServer
beforeEach(async () => {
  fleet = await FakeFleetServer.start()
})
afterEach(() => fleet.stop())

async function eitri(...argv: string[]) {
  const io = new FakeTerminal()
  io.stdin.end()
  const code = await runCli(argv, {
    io,
    now: () => 0,
    apiSocket: () => fleet.socketPath,
    embed: async () => ({ async stop() {} }),
    async serve() {},
  })
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
