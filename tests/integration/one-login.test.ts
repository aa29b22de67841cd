import { expect, it } from 'vitest'
import { ConsoleViewer } from '../support/console-client.ts'
import { describeHosts } from '../support/describe-hosts.ts'
import { Desktop } from '../support/eitri.ts'
import { addHost, linkOf } from '../support/fleet.ts'
import { loginsOf } from '../support/logins.ts'
import { startSshHost } from '../support/ssh-host.ts'

const VMS = Array.from({ length: 10 }, (_, i) => `vm${i}`)

describeHosts('a host, its image, ten VMs and three consoles', { timeout: 240_000 }, () => {
  it('take one sign-in', async () => {
    await using host = await startSshHost({ name: 'rack1' })
    await using desktop = await new Desktop().start()
    await desktop.buildTiny()
    await addHost(desktop, host)
    for (const name of VMS) await desktop.must(['vm', 'create', name, '--power', 'stopped'])
    for (const name of VMS)
      await desktop.must(['vm', 'wait', name, '--state', 'stopped', '--timeout', '120s'], { timeoutMs: 130_000 })
    expect((await desktop.must(['image', 'list'])).images[0].cached_on).toHaveLength(1)
    const viewers = VMS.slice(0, 3).map((name) => new ConsoleViewer(() => desktop.apiSocket, name))
    try {
      for (const viewer of viewers) await viewer.waitForLink('stopped', 20_000)
      expect(await linkOf(desktop, 'rack1')).toBe('connected')
      await expect.poll(() => loginsOf(host)).toBe(1)
    } finally {
      for (const viewer of viewers) await viewer.close()
    }
  })
})
