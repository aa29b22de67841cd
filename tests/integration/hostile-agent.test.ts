import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { describeHosts } from '../support/describe-hosts.ts'
import { Desktop } from '../support/eitri.ts'
import { addHost, agentsOf, linkOf } from '../support/fleet.ts'
import { type SshHost, startSshHost } from '../support/ssh-host.ts'

const SOCKET = '/run/eitri/agent.sock'
const SCRIPT = path.join(import.meta.dirname, '../support/host/hostile-agent.mjs')
const MAX_GROWTH_KIB = 100 * 1024

const rssKiB = (pid: number) => Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))![1])

describeHosts('an agent that lies', { timeout: 90_000 }, () => {
  let host: SshHost
  let desktop: Desktop
  let hostile: ChildProcess | undefined

  beforeAll(async () => {
    host = await startSshHost({ name: 'rack1' })
    desktop = await new Desktop().start()
    await addHost(desktop, host)
    fs.copyFileSync(process.execPath, host.outside('/opt/node'))
    fs.copyFileSync(SCRIPT, host.outside('/opt/hostile-agent.mjs'))
  }, 120_000)
  afterAll(async () => {
    hostile?.kill('SIGKILL')
    await desktop?.close()
    await host?.close()
  }, 30_000)

  it('gets nowhere with a message header that claims 2 GB, and the real one is welcome after it', async () => {
    const enter = [
      '-t',
      `${host.pid}`,
      '-m',
      '-n',
      '-p',
      '-r',
      '-w',
      '--',
      '/opt/node',
      '/opt/hostile-agent.mjs',
      SOCKET,
    ]
    const child = spawn('nsenter', enter, { stdio: ['ignore', 'pipe', 'inherit'] })
    hostile = child
    let said = ''
    child.stdout.on('data', (chunk: Buffer) => {
      said += chunk
    })
    await once(child.stdout, 'data')
    const before = rssKiB(desktop.pid)
    for (const agent of agentsOf(host)) process.kill(agent.pid, 'SIGKILL')
    await expect.poll(() => said, { timeout: 30_000 }).toContain('answered /eitri.agent.v1.AgentService/')
    const fault = async () => (await desktop.must(['host', 'show', 'rack1'])).link_fault?.code
    await expect.poll(fault, { timeout: 30_000, interval: 500 }).toBe('agent/misbehaved')
    expect(rssKiB(desktop.pid) - before).toBeLessThan(MAX_GROWTH_KIB)

    child.kill('SIGKILL')
    for (const p of host.listProcesses()) if (p.argv[0] === '/opt/node') process.kill(p.pid, 'SIGKILL')
    await expect.poll(() => linkOf(desktop, 'rack1'), { timeout: 60_000, interval: 500 }).toBe('connected')
    expect(agentsOf(host)).toHaveLength(1)
  })
})
