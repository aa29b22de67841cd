import type { ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import type { NetNamespace } from './net-namespace.ts'

const READY_MS = 10_000

/** A real dnsmasq that gives out `range` on a device; resolves once it serves. It ends with the namespace. */
export async function dhcpServer(
  space: NetNamespace,
  { device, range, dir }: { device: string; range: string; dir: string },
): Promise<ChildProcess> {
  const server = space.spawn([
    ...['dnsmasq', '--keep-in-foreground', '--conf-file=/dev/null', '--user=root', '--pid-file=', '--log-facility=-'],
    ...[`--interface=${device}`, '--bind-interfaces', '--except-interface=lo', '--port=0', '--no-ping', '--log-dhcp'],
    ...[`--dhcp-range=${range},1h`, '--dhcp-authoritative', `--dhcp-leasefile=${join(dir, `${space.name}.leases`)}`],
  ])
  let said = ''
  await new Promise<void>((resolve, reject) => {
    const fail = () => reject(new Error(`dnsmasq does not serve: ${said}`))
    const timer = setTimeout(fail, READY_MS)
    const done = (settle: () => void) => () => {
      clearTimeout(timer)
      settle()
    }
    server.once('exit', done(fail))
    server.stderr!.on('data', (text: Buffer) => {
      said += text
      if (said.includes('DHCP, sockets bound')) done(resolve)()
    })
  })
  return server
}

/** The address a DHCP client gets there within so many tries of a second. Throws when it gets none. */
export async function lease(space: NetNamespace, device: string, tries = 10): Promise<string> {
  const argv = ['busybox', 'udhcpc', '-i', device, '-f', '-q', '-n', '-t', String(tries), '-T', '1', '-s', '/bin/true']
  const { stderr } = await space.run(argv)
  const ip = /lease of (\S+) obtained/.exec(stderr)?.[1]
  if (ip === undefined) throw new Error(`no lease: ${stderr}`)
  return ip
}
