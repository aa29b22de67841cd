import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Desktop } from '../support/eitri.ts'
import { netNamespaceImpossible } from '../support/net-namespace.ts'

const BOOT_MS = 180_000
const BUILD_MS = 300_000

describe.skipIf(netNamespaceImpossible())('eitri ssh into a real guest in user-mode networking', () => {
  let desktop: Desktop
  const run = (...args: string[]) => desktop.cli(args, { plain: true })

  beforeAll(async () => {
    desktop = new Desktop()
    await desktop.start()
    await desktop.must(['host', 'add', 'here', '--local'], { timeoutMs: 60_000 })
    await desktop.buildTiny()
    await desktop.must(['vm', 'create', 'web', '--wait', 'ready'], { timeoutMs: BOOT_MS })
  }, BUILD_MS + BOOT_MS)
  afterAll(() => desktop?.close())

  it(
    'is certified before its first boot, and lets in by a certificate alone',
    async () => {
      const hostname = async () => (await run('ssh', 'web', '--', 'hostname')).stdout
      await expect.poll(hostname, { timeout: BOOT_MS, interval: 1_000 }).toBe('web\n')
      const files =
        'wc -c </etc/ssh/eitri_revoked_keys; cat /etc/ssh/sshd_config.d/10-eitri.conf; cat /root/.ssh/authorized_keys'
      const said = await run('ssh', 'web', '--', files)
      expect(said.stdout).toMatch(/^0\nTrustedUserCAKeys .*\nRevokedKeys .*\nHostCertificate .*\n$/)
      expect(await run('ssh', '--login', 'nobody', 'web', '--', 'true')).toMatchObject({ code: 255 })
    },
    2 * BOOT_MS,
  )

  it('holds the newest list of revoked certificates, and took the part of the fleet that its seed has', async () => {
    const shown = async () => {
      const { vms } = await desktop.must(['vm', 'list'])
      return [vms[0]?.trust?.revocations, vms[0]?.guest?.fleet_payload]
    }
    await expect.poll(shown, { timeout: 90_000, interval: 1_000 }).toEqual(['current', 'applied'])
  }, 120_000)
})
