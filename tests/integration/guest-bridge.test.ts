import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { macOf } from '../../src/agent/network/mac.ts'
import { ManagedNetwork } from '../../src/agent/network/managed-network.ts'
import { networkPlace } from '../../src/agent/network/network-place.ts'
import { tapName } from '../../src/agent/network/tap.ts'
import { type Detach, detach, type Run, run } from '../../src/agent/os/exec.ts'
import { linuxProcesses } from '../../src/agent/os/process.ts'
import { systemClock } from '../../src/ipc/base/clock.ts'
import { silentLog } from '../../src/ipc/base/log.ts'
import { dhcpServer, lease } from '../support/dhcp.ts'
import { NetNamespace, netNamespaceImpossible } from '../support/net-namespace.ts'

const WEB = { vmId: 'a'.repeat(32), name: 'web', ip: '10.213.0.2' }
const DB = { vmId: 'b'.repeat(32), name: 'db', ip: '10.213.0.3' }
const HOLDS = `const socket = require('node:net').connect(53, '10.213.0.1')
socket.on('connect', () => console.log('connected')).on('error', () => {})`
/** Who has the third address, asked in the name of the second, behind so many tags of VLAN 0. */
const ASKS = `import socket, sys
card, own, wanted = bytes.fromhex(sys.argv[1].replace(':', '')), socket.inet_aton(sys.argv[2]), socket.inet_aton(sys.argv[3])
ask = bytes.fromhex('0806000108000604' + '0001') + card + own + bytes(6) + wanted
wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
wire.bind(('eth0', 0))
wire.send(b'\\xff' * 6 + card + bytes.fromhex('81000000') * int(sys.argv[4]) + ask)`

describe.skipIf(netNamespaceImpossible())(
  'the bridge of the guests, with namespaces as guests',
  { timeout: 60_000 },
  () => {
    let dir: string
    let host: NetNamespace
    let guest: NetNamespace
    const open: ManagedNetwork[] = []

    const inside: Run = (point, command, args, options) => {
      const [program, ...rest] = host.enter(command, ...args)
      return run(point, program!, rest, options)
    }
    const detached: Detach = (point, command, args, options) => {
      const [program, ...rest] = host.enter(command, ...args)
      return detach(point, program!, rest, options)
    }
    const network = () => {
      const made = new ManagedNetwork({
        place: networkPlace(1, dir),
        stateDir: '/state',
        cidr: '10.213.0.0/24',
        run: inside,
        detach: detached,
        processes: linuxProcesses(),
        sysctl: { read: async () => '1', write: async () => {} },
        clock: systemClock,
        log: silentLog,
      })
      open.push(made)
      return made
    }
    const plug = () => host.ip('link', 'set', tapName(WEB.vmId), 'master', 'eitri0')
    const ports = () => host.ip('link', 'show', 'master', 'eitri0')
    const served = () => Number(readFileSync(networkPlace(1, dir).pidfile, 'utf8'))
    const dnsmasqs = async () =>
      (await host.pids()).filter((pid) => readFileSync(`/proc/${pid}/comm`, 'utf8') === 'dnsmasq\n')
    const reserved = (...vms: (typeof WEB)[]) =>
      new Map(vms.map(({ vmId, name, ip }) => [vmId, { mac: macOf(vmId), ip, name }]))

    beforeEach(async () => {
      dir = mkdtempSync(`${tmpdir()}/eitri-bridge-`)
      chmodSync(dir, 0o755)
      mkdirSync(networkPlace(1, dir).dir)
      host = await NetNamespace.make()
      guest = await NetNamespace.make()
      await host.cable({ name: tapName(WEB.vmId) }, guest, { name: 'eth0', mac: macOf(WEB.vmId) })
    })
    afterEach(async () => {
      for (const made of open.splice(0)) await made.close()
      for (const space of [host, guest]) await space[Symbol.asyncDispose]()
      rmSync(dir, { recursive: true, force: true })
    })

    it.each(['ignore', 'infinite', '10m', '7', 'web'])(
      'gives a VM of the name %s its address, and its name to others',
      async (name) => {
        await network().start(reserved({ ...WEB, name }))
        await plug()
        expect(await lease(guest, 'eth0')).toBe(WEB.ip)
        expect(await host.must(['busybox', 'nslookup', `${name}.eitri.internal`, '10.213.0.1'])).toContain(WEB.ip)
      },
    )

    describe('between guests', () => {
      let rogue: NetNamespace
      const rogueHas = (...addresses: string[]) =>
        Promise.all(addresses.map((address) => rogue.ip('addr', 'add', `${address}/24`, 'dev', 'eth0')))
      const answers = async (ip: string) => (await host.run(['busybox', 'ping', '-c', '2', '-W', '1', ip])).code === 0
      const neighbours = () => host.ip('neigh', 'show', 'dev', 'eitri0')

      beforeEach(async () => {
        rogue = await NetNamespace.make()
        await network().start(reserved(WEB, DB))
        await plug()
        const port = { name: tapName(DB.vmId), bridge: 'eitri0' }
        await host.cable(port, rogue, { name: 'eth0', mac: macOf(DB.vmId), addresses: [`${DB.ip}/24`] })
      })
      afterEach(async () => await rogue[Symbol.asyncDispose]())

      it('answers for DHCP alone', async () => {
        await dhcpServer(rogue, { device: 'eth0', range: '10.213.0.50,10.213.0.59', dir })
        await guest.ip('link', 'set', 'eth0', 'address', '52:54:00:ff:ff:01')
        await expect(lease(guest, 'eth0', 3)).rejects.toThrow('no lease')
        await guest.ip('link', 'set', 'eth0', 'address', macOf(WEB.vmId))
        expect(await lease(guest, 'eth0')).toBe(WEB.ip)
      })

      it('keeps each from the address of another and of the host, not from one that nobody has', async () => {
        await rogueHas(WEB.ip, '10.213.0.99')
        expect([await answers(DB.ip), await answers('10.213.0.99'), await answers(WEB.ip)]).toEqual([true, true, false])
        await guest.ip('addr', 'add', `${WEB.ip}/24`, 'dev', 'eth0')
        expect(await answers(WEB.ip)).toBe(true)
        await rogueHas('10.213.0.1')
        const asked = await guest.run(['busybox', 'arping', '-c', '3', '-I', 'eth0', '10.213.0.1'])
        expect(asked.stdout).toContain(macOf('10.213.0.1/24'))
        expect(asked.stdout).not.toContain(macOf(DB.vmId))
      })

      it('keeps each from the card of another, not from one that nobody has', async () => {
        await rogue.ip('link', 'set', 'eth0', 'address', macOf(WEB.vmId))
        expect(await answers(DB.ip)).toBe(false)
        await host.ip('neigh', 'flush', 'dev', 'eitri0')
        await rogue.ip('link', 'set', 'eth0', 'address', '52:54:00:ff:ff:02')
        expect(await answers(DB.ip)).toBe(true)
      })

      it.each([0, 1, 2])('takes no address from behind %i tags, which who receives them takes off', async (tags) => {
        const asks = (ip: string) => rogue.must(['python3', '-c', ASKS, macOf(DB.vmId), ip, '10.213.0.1', String(tags)])
        await asks('10.213.0.99')
        expect(await neighbours()).toMatch(tags === 0 ? /10\.213\.0\.99/ : /^$/)
        await asks(WEB.ip)
        expect(await neighbours()).not.toContain(`${WEB.ip} `)
      })

      it('lets an address pass from one guest to the next', async () => {
        await open[0]!.serve(reserved({ ...DB, ip: WEB.ip }))
        await rogueHas(WEB.ip)
        expect(await answers(WEB.ip)).toBe(true)
      })
    })

    it('gets back the port of a VM whose agent died after it had made a deleted bridge anew', async () => {
      await host.ip('tuntap', 'add', 'dev', tapName(DB.vmId), 'mode', 'tap')
      await network().start(reserved(WEB, DB))
      expect(await ports()).toContain(tapName(DB.vmId))
      await open[0]!.close()
      await host.ip('link', 'set', tapName(DB.vmId), 'nomaster')
      await network().start(reserved(WEB, DB))
      expect(await ports()).toContain(tapName(DB.vmId))
    })

    it('leaves the tap of a VM where somebody put it', async () => {
      await host.bridge('br-own')
      await host.ip('tuntap', 'add', 'dev', tapName(DB.vmId), 'mode', 'tap')
      await host.ip('link', 'set', tapName(DB.vmId), 'master', 'br-own')
      await network().start(reserved(WEB, DB))
      expect(await ports()).not.toContain(tapName(DB.vmId))
    })

    it('is served anew when dnsmasq died while a guest holds a connection to it', async () => {
      const made = network()
      await made.start(reserved(WEB))
      await plug()
      await guest.ip('addr', 'add', `${WEB.ip}/24`, 'dev', 'eth0')
      const held = guest.spawn([process.execPath, '-e', HOLDS])
      await new Promise<void>((resolve) => held.stdout!.once('data', () => resolve()))
      await expect.poll(dnsmasqs).toHaveLength(2)
      const before = served()
      process.kill(before, 'SIGKILL')
      await expect.poll(dnsmasqs).toHaveLength(1)
      await made.serve(reserved(WEB, DB))
      expect(await dnsmasqs()).toEqual([served()])
      expect(served()).not.toBe(before)
    })
  },
)
