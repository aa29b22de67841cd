import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { BridgeGuard } from '../../src/agent/network/bridge-guard.ts'
import { macOf } from '../../src/agent/network/mac.ts'
import { OperatorNetworks } from '../../src/agent/network/operator-networks.ts'
import { removeOperatorNics } from '../../src/agent/network/remove-operator-nics.ts'
import { tapName } from '../../src/agent/network/tap.ts'
import { type Run, run } from '../../src/agent/os/exec.ts'
import { onHit } from '../../src/agent/os/failpoints.ts'
import { systemClock } from '../../src/ipc/base/clock.ts'
import { silentLog } from '../../src/ipc/base/log.ts'
import { dhcpServer, lease } from '../support/dhcp.ts'
import { NetNamespace, netNamespaceImpossible } from '../support/net-namespace.ts'

const WEB = { vmId: 'a'.repeat(32), name: 'web-1', network: 'lan' }
const DB = { vmId: 'b'.repeat(32), name: 'db-1', network: 'lan' }
const tapOf = ({ vmId }: { vmId: string }) => tapName(vmId, 1)
const live = () => AbortSignal.timeout(20_000)

/** A DHCP answer as raw UDP payload: to `mac`, of this kind, with this address. */
const answer = (mac: string, ip: string, kind: number) => `
const packet = Buffer.alloc(300)
packet.set([2, 1, 6, 0])
packet.set([${ip.split('.').join(',')}], 16)
packet.set([${mac
  .split(':')
  .map((byte) => `0x${byte}`)
  .join(',')}], 28)
packet.set([0x63, 0x82, 0x53, 0x63, 53, 1, ${kind}, 255], 236)
const socket = require('node:dgram').createSocket({ type: 'udp4', reuseAddr: true })
socket.bind(67, () => {
  socket.setBroadcast(true)
  socket.send(packet, 68, '10.9.0.255', (error) => {
    if (error) throw error
    socket.close()
  })
})`

/** Datagrams to port 68 of all, by port and tags they stand behind. */
const SENDS = `import socket, struct, sys
wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
wire.bind(('eth0', 0))
for port, tags in [(67, '8100000081000000'), (67, '88a8000081000000'), (67, '8100e00088a80000'), (6767, '')]:
    text = f'{port} {tags}'.encode()
    head = struct.pack('!BBHHHBBH4s4s', 0x45, 0, 28 + len(text), 0, 0, 64, 17, 0, bytes([10, 9, 0, 50]), bytes([255] * 4))
    total = sum(struct.unpack('!10H', head))
    total = (total & 0xffff) + (total >> 16)
    head = head[:10] + struct.pack('!H', ~((total & 0xffff) + (total >> 16)) & 0xffff) + head[12:]
    datagram = struct.pack('!HHHH', port, 68, 8 + len(text), 0) + text
    wire.send(bytes([255] * 6) + bytes.fromhex('525400000001') + bytes.fromhex(tags + '0800') + head + datagram)`
const HEARS = `import socket
heard = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
heard.bind(('', 68))
print('ready', flush=True)
while True:
    text = heard.recv(100).decode()
    print(text, flush=True)
    if text.startswith('6767'): break`

describe.skipIf(netNamespaceImpossible())(
  'networks of the operator: two hosts, a cable, a DHCP server, and namespaces as guests',
  {
    timeout: 60_000,
  },
  () => {
    let dir: string
    let host: NetNamespace
    let server: NetNamespace
    const guests = new Map<string, NetNamespace>()
    let networks: OperatorNetworks[] = []
    let sysClassNet: string

    const inside: Run = (point, command, args, options) => {
      const [program, ...rest] = host.enter(command, ...args)
      return run(point, program!, rest, options)
    }
    /** A guest's NIC is a cable: what the kernel does with its frames is the same as with a tap's. */
    const taps = {
      ensure: async (tap: string, _signal: AbortSignal, bridge: string) => {
        const [vmId, guest] = [...guests].find(([id]) => tapName(id, 1) === tap)!
        if ((await host.run(['ip', 'link', 'show', tap])).code === 0) return
        await host.cable({ name: tap, bridge }, guest, { name: 'eth0', mac: macOf(vmId, 1) })
      },
      remove: async (tap: string) => {
        await host.run(['ip', 'link', 'delete', tap])
      },
    }
    const serving = async (...known: { vmId: string; networkIp: string }[]) => {
      const shown = host.spawn(['sleep', '600'])
      const sysClassNet = `/proc/${shown.pid}/root/sys/class/net`
      await expect.poll(() => existsSync(join(sysClassNet, 'br-lan'))).toBe(true)
      const made = new OperatorNetworks({
        networks: [{ name: 'lan', bridge: 'br-lan' }],
        taps,
        guard: new BridgeGuard(inside),
        clock: systemClock,
        log: silentLog,
        sysClassNet,
      })
      networks.push(made)
      await made.start(known.map(({ vmId, networkIp }) => ({ ...WEB, vmId, networkIp, ip: '' })))
      return made
    }
    const addressOf = (made: OperatorNetworks, { vmId }: { vmId: string }) =>
      expect.poll(() => made.networkAddress(vmId), { timeout: 15_000, interval: 50 })
    const table = async () => await host.must(['nft', 'list', 'table', 'bridge', 'eitri'])
    const dropped = async () => Number(/packets (\d+)/.exec(await table())![1])

    beforeEach(async () => {
      dir = mkdtempSync(join(tmpdir(), 'eitri-lan-'))
      host = await NetNamespace.make()
      server = await NetNamespace.make()
      for (const { vmId } of [WEB, DB]) guests.set(vmId, await NetNamespace.make())
      await host.bridge('br-lan', '10.9.0.2/24')
      const shown = host.spawn(['sleep', '600'])
      sysClassNet = `/proc/${shown.pid}/root/sys/class/net`
      await expect.poll(() => existsSync(join(sysClassNet, 'br-lan'))).toBe(true)
      await host.cable({ name: 'lan0', bridge: 'br-lan' }, server, { name: 'eth0', addresses: ['10.9.0.1/24'] })
    })
    afterEach(async () => {
      onHit(undefined)
      for (const made of networks) await made.close()
      networks = []
      for (const space of [host, server, ...guests.values()]) await space[Symbol.asyncDispose]()
      guests.clear()
      rmSync(dir, { recursive: true, force: true })
    })

    it('tell the address that the server on the other host gave, and of a server on this host', async () => {
      const made = await serving()
      await made.attach(WEB, live())
      await made.attach(DB, live())
      const far = await dhcpServer(server, { device: 'eth0', range: '10.9.0.50,10.9.0.59', dir })
      const web = await lease(guests.get(WEB.vmId)!, 'eth0')
      expect(web).toMatch(/^10\.9\.0\.5\d$/)
      await addressOf(made, WEB).toBe(web)
      expect(made.networkAddress(DB.vmId)).toBe('')
      far.kill('SIGKILL')
      await dhcpServer(host, { device: 'br-lan', range: '10.9.0.70,10.9.0.79', dir })
      const db = await lease(guests.get(DB.vmId)!, 'eth0')
      expect(db).toMatch(/^10\.9\.0\.7\d$/)
      await addressOf(made, DB).toBe(db)
      expect(made.networkAddress(WEB.vmId)).toBe(web)
    })

    it('let no guest answer as a DHCP server: its neighbour has the lease of the real one', async () => {
      const made = await serving()
      await made.attach(WEB, live())
      await made.attach(DB, live())
      const rogue = guests.get(WEB.vmId)!
      await rogue.ip('addr', 'add', '10.66.0.1/24', 'dev', 'eth0')
      await dhcpServer(rogue, { device: 'eth0', range: '10.66.0.50,10.66.0.59', dir })
      await expect(lease(guests.get(DB.vmId)!, 'eth0', 2)).rejects.toThrow('no lease')
      expect(await dropped()).toBeGreaterThan(0)
      await dhcpServer(server, { device: 'eth0', range: '10.9.0.50,10.9.0.59', dir })
      const db = await lease(guests.get(DB.vmId)!, 'eth0')
      expect(db).toMatch(/^10\.9\.0\./)
      await addressOf(made, DB).toBe(db)
      await expect
        .poll(() => made.notices(), { timeout: 15_000 })
        .toEqual([expect.stringContaining('web-1 answers as a DHCP server on the network lan')])
    })

    it('let nothing pass that a guest hides behind tags which receivers take off', async () => {
      const made = await serving()
      await made.attach(WEB, live())
      const hears = server.spawn(['python3', '-c', HEARS])
      let heard = ''
      hears.stdout!.on('data', (text: Buffer) => (heard += text))
      await expect.poll(() => heard, { timeout: 15_000 }).toBe('ready\n')
      await guests.get(WEB.vmId)!.must(['python3', '-c', SENDS])
      await expect.poll(() => heard, { timeout: 15_000 }).toContain('6767')
      expect(heard).toBe('ready\n6767 \n')
    })

    it('believe a server alone: no guest, no other kind of answer, no answer to somebody else', async () => {
      const made = await serving()
      await made.attach(WEB, live())
      await made.attach(DB, live())
      await guests.get(WEB.vmId)!.ip('addr', 'add', '10.9.0.9/24', 'dev', 'eth0')
      const says = (space: NetNamespace, ...args: Parameters<typeof answer>) =>
        space.must([process.execPath, '-e', answer(...args)])
      const db = macOf(DB.vmId, 1)
      const before = await dropped()
      await says(guests.get(WEB.vmId)!, db, '10.9.0.66', 5)
      expect(await dropped()).toBe(before + 1)
      await says(server, db, '10.9.0.67', 2)
      await says(server, db, '0.0.0.0', 5)
      await says(server, '52:54:00:00:00:01', '10.9.0.68', 5)
      expect(await table()).not.toMatch(/set acks \{[^}]*elements/)
      await says(server, db, '10.9.0.50', 5)
      await addressOf(made, DB).toBe('10.9.0.50')
      expect(made.networkAddress(WEB.vmId)).toBe('')
    })

    it('are put back when somebody empties the ruleset, and learn on', async () => {
      const made = await serving()
      await made.attach(WEB, live())
      await host.must(['nft', 'flush', 'ruleset'])
      await expect.poll(() => table().catch(() => ''), { timeout: 15_000 }).toContain('drop')
      await dhcpServer(server, { device: 'eth0', range: '10.9.0.50,10.9.0.59', dir })
      await addressOf(made, WEB).toBe(await lease(guests.get(WEB.vmId)!, 'eth0'))
    })

    it('are the same after each start, with what was learned while no agent ran', async () => {
      const first = await serving()
      await first.attach(WEB, live())
      const rules = await table()
      await first.close()
      await dhcpServer(server, { device: 'eth0', range: '10.9.0.50,10.9.0.59', dir })
      const web = await lease(guests.get(WEB.vmId)!, 'eth0')
      const second = await serving({ vmId: WEB.vmId, networkIp: '' })
      expect((await table()).replace(/\n\s*elements = \{ [^}]*expires[^}]*\}/, '')).toBe(rules)
      await addressOf(second, WEB).toBe(web)
    })

    it('leave the rules of others alone, and no table where nobody needs one', async () => {
      await host.must(['nft', 'add table bridge theirs; add chain bridge theirs c; add rule bridge theirs c drop'])
      const theirs = await host.must(['nft', 'list', 'ruleset'])
      await new BridgeGuard(inside).remove()
      expect(await host.must(['nft', 'list', 'ruleset'])).toBe(theirs)
      await serving()
      await new BridgeGuard(inside).remove()
      await new BridgeGuard(inside).remove()
      expect(await host.must(['nft', 'list', 'ruleset'])).toBe(theirs)
    })

    it('are given up by an uninstall, which takes the guard with the last NIC on this host', async () => {
      const made = await serving()
      await made.attach(WEB, live())
      await made.attach(DB, live())
      await made.close()
      const nics = async () => (await host.ip('-o', 'link', 'show', 'master', 'br-lan')).match(/eil-\w+/g)
      expect(await removeOperatorNics(inside, [WEB.vmId, 'c'.repeat(32)], sysClassNet)).toEqual([
        `interface ${tapOf(WEB)}`,
      ])
      expect(await nics()).toEqual([tapOf(DB)])
      expect(await table()).toContain('drop')
      expect(await removeOperatorNics(inside, [DB.vmId], sysClassNet)).toEqual([
        `interface ${tapOf(DB)}`,
        'nft table bridge eitri',
      ])
      expect(await removeOperatorNics(inside, [DB.vmId], sysClassNet)).toEqual([])
      expect(await host.must(['nft', 'list', 'ruleset'])).toBe('')
    })

    it('change nothing when their one transaction fails', async () => {
      const made = await serving()
      await made.attach(WEB, live())
      const rules = await table()
      await expect(new BridgeGuard(inside).program([{ tap: 'eil-"; drop', mac: 'nothing' }])).rejects.toMatchObject({
        code: 'vm/network-failed',
      })
      expect(await table()).toBe(rules)
    })

    it('are whole after a life that was cut at any step', async () => {
      for (const point of ['guard.program', 'guard.look', 'guard.remove'] as const)
        for (const phase of ['before', 'after'] as const) {
          let cut = false
          onHit((at, when) => {
            cut ||= at === point && when === phase
            if (cut && when !== 'between') throw new Error('cut')
          })
          const made = await serving()
          await made.attach(WEB, live()).catch(() => {})
          await expect.poll(() => cut || point === 'guard.remove', { timeout: 15_000 }).toBe(true)
          await new BridgeGuard(inside).remove().catch(() => {})
          expect(cut).toBe(true)
          await made.close()
          onHit(undefined)
          const next = await serving({ vmId: WEB.vmId, networkIp: '' })
          await next.attach(WEB, live())
          expect(await table()).toContain(tapOf(WEB))
          expect((await table()).match(/ drop /g)).toHaveLength(2)
          await next.detach(WEB.vmId)
          expect(await table()).not.toContain(tapOf(WEB))
          await next.close()
        }
    })
  },
)
