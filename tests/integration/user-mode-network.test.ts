import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { noSerialPump } from '../../src/agent/backends/backend.ts'
import { QemuBackend } from '../../src/agent/backends/qemu/qemu-backend.ts'
import { detach, run } from '../../src/agent/os/exec.ts'
import { linuxProcesses } from '../../src/agent/os/process.ts'
import { agentLayout } from '../../src/agent/records/layout.ts'
import { systemClock } from '../../src/ipc/base/clock.ts'
import { silentLog } from '../../src/ipc/base/log.ts'
import { AgentProcess } from '../support/agent-process.ts'
import { ManyVms } from '../support/many-vms.ts'

const HEARD_MS = 60_000

/** The first words of whoever answers on a port of this computer; '' = it hung up without a word. */
const words = (port: number) =>
  new Promise<string>((resolve, reject) => {
    const socket = connect(port, '127.0.0.1').setEncoding('utf8')
    socket.once('data', (text: string) => {
      socket.destroy()
      resolve(text)
    })
    socket.on('error', reject).on('close', () => resolve(''))
  })

/** As soon as the guest's server is there: until then its kernel hangs up. */
async function heard(port: number): Promise<string> {
  const deadline = Date.now() + HEARD_MS
  let text = await words(port)
  while (text === '' && Date.now() < deadline) {
    await delay(100)
    text = await words(port)
  }
  return text
}

const backendOver = () =>
  new QemuBackend({
    run,
    detach,
    processes: linuxProcesses(),
    clock: systemClock,
    log: silentLog,
    serial: noSerialPump,
    acceleration: async () => 'tcg',
  })

describe('a guest in user-mode networking', () => {
  it('has ways from loopback to its ports, made while it runs and found again by a later agent', async () => {
    await using agent = new AgentProcess()
    await agent.start()
    using vms = await ManyVms.open(agent)
    const [id] = vms.create(1)
    await vms.running()
    await vms.prompt(id!)
    await agent.end('SIGTERM')
    const vm = agentLayout(agent.stateDir).vmDir(id!)
    const first = backendOver()
    expect(first.capabilities.liveForward).toBe(true)
    const [port, same, other] = await Promise.all([
      first.forward(vm, 'tcp', 22),
      first.forward(vm, 'tcp', 22),
      first.forward(vm, 'udp', 22),
    ])
    expect(same).toBe(port)
    expect(other).not.toBe(port)
    expect(await heard(port)).toMatch(/^SSH-2\.0-/)
    await first.close()
    const second = backendOver()
    expect(await second.forward(vm, 'tcp', 22)).toBe(port)
    await second.close()
  })
})
