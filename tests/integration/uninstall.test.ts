import { expect, it } from 'vitest'
import { describeHosts } from '../support/describe-hosts.ts'
import { Desktop } from '../support/eitri.ts'
import { addArguments, addHost, agentsOf, linkOf, tryAddHost } from '../support/fleet.ts'
import { type SshHost, startSshHost } from '../support/ssh-host.ts'

/** The last two are mounts of their own in a test host. */
const PLACES = '/etc /home /opt /root /run /tmp /usr/local /var/lib /var/spool /var/lib/eitri /usr/local/lib/eitri'
/** Made by the host's own programs whoever signs in, and by its account tools. */
const OF_THE_HOST =
  /^\/run\/(sshd|utmp|sudo|motd)|^\/var\/lib\/sudo|\/\.sudo_as_admin|^\/etc\/g?(passwd|group|shadow)-$|\.lock$/

/** Every path of the host where an installation may leave something. */
async function pathsOf(host: SshHost): Promise<string[]> {
  const { stdout } = await host.exec(['find', ...PLACES.split(' '), '-xdev'])
  return stdout.split('\n').filter((line) => line !== '' && !OF_THE_HOST.test(line))
}

const accountsOf = (host: SshHost) => host.must(['sh', '-c', 'cat /etc/group; crontab -l 2>/dev/null || true'])

describeHosts('a host that leaves the fleet with its agent', { timeout: 120_000 }, () => {
  it.each(['root', 'ops'] as const)(
    'is as %s found it: no program, process, socket, state or group is left',
    async (user) => {
      await using host = await startSshHost({ name: 'rack1' })
      await using desktop = await new Desktop().start()
      const before = { paths: await pathsOf(host), accounts: await accountsOf(host) }
      if (user === 'root') await addHost(desktop, host)
      else {
        const [, , name, ...rest] = addArguments(host, user)
        const added = await tryAddHost(desktop, [name!, ...rest, '--sudo', '--password-stdin'], {
          input: `${host.passwords.ops}\n${host.passwords.ops}\n`,
        })
        expect(added).toMatchObject({ code: 0 })
      }
      const [agent] = agentsOf(host)
      process.kill(agent!.pid, 'SIGKILL')
      await expect.poll(() => linkOf(desktop, 'rack1'), { timeout: 5_000, interval: 50 }).not.toBe('connected')
      await expect.poll(() => linkOf(desktop, 'rack1'), { timeout: 15_000, interval: 100 }).toBe('connected')
      expect(agentsOf(host)).toHaveLength(1)
      await desktop.must(['host', 'remove', 'rack1', '--uninstall'], { timeoutMs: 60_000 })
      expect(agentsOf(host)).toEqual([])
      expect((await pathsOf(host)).filter((found) => !before.paths.includes(found))).toEqual([])
      expect(await accountsOf(host)).toBe(before.accounts)
      expect((await desktop.must(['host', 'list'])).hosts).toEqual([])
    },
  )
})
