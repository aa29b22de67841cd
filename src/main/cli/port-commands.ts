import type { Command } from 'commander'
import {
  ListPortsResponseSchema,
  type Port,
  PortSchema,
  UnpublishPortResponseSchema,
} from '../../ipc/gen/eitri/fleet/v1/port_pb.js'
import { check } from '../../ipc/rules.ts'
import type { Runner } from './context.ts'
import { reference, wholeNumber } from './options.ts'
import { invalid } from './outcome.ts'
import { sheet, table } from './table.ts'

interface PublishOptions {
  hostPort?: number
  loopback?: boolean
  ifAbsent?: boolean
}

export function portCommands(root: Command, run: Runner): void {
  const port = root.command('port').description('guest ports opened on their hosts')
  run(
    port
      .command('publish <vm> <guest>')
      .description('open a port of a VM on its host: 443, or 53/udp')
      .option('--host-port <n>', 'port of the host; without it one of the reserved range', wholeNumber)
      .option('--loopback', 'only for programs on the host, not for its network')
      .option('--if-absent', 'be content when it is published like this already'),
    async (context, vm: string, guest: string, options: PublishOptions) => {
      context.deadline()
      const request = check('publishPort', {
        vm: reference('vm', vm),
        ...guestPort(guest),
        hostPort: options.hostPort ?? 0,
        scope: options.loopback ? 'loopback' : 'lan',
      })
      const { ports } = await context.fleet()
      const given = { ...request, ifAbsent: options.ifAbsent ?? false }
      const answer = await ports.publishPort(given, { signal: context.signal })
      if (answer.port) await context.answer(PortSchema, answer.port, () => portSheet(answer.port!))
    },
  )
  run(
    port.command('list').description('all published ports').option('--vm <vm>', 'those of one VM'),
    async (context, { vm }: { vm?: string }) => {
      context.deadline()
      const request = { vm: vm === undefined ? '' : reference('vm', vm) }
      const answer = await (await context.fleet()).ports.listPorts(request, { signal: context.signal })
      await context.answer(ListPortsResponseSchema, answer, () =>
        table(
          ['ID', 'HOST', 'PUBLISHED', 'LEADS TO', 'STATE', 'ACTIVE', 'REFUSED', 'DROPPED', 'REASON'],
          answer.ports.map((p) => [
            p.id.slice(0, 12),
            p.hostName,
            published(p),
            leadsTo(p),
            stateWord(p),
            count(p.sessions?.active),
            count(p.sessions?.refused),
            count(p.sessions?.dropped),
            p.reason,
          ]),
        ),
      )
    },
  )
  run(
    port.command('unpublish <id>').description('close it and end its connections'),
    async (context, given: string) => {
      context.deadline()
      const { ports } = await context.fleet()
      const id = /^[0-9a-f]{6,31}$/.test(given) ? await wholeId(ports, given, context.signal) : given
      const answer = await ports.unpublishPort(check('portRef', { id }), { signal: context.signal })
      await context.answer(UnpublishPortResponseSchema, answer, () => '')
    },
  )
}

/** `443`, `443/tcp` or `53/udp`. */
function guestPort(text: string): { guestPort: number; protocol: 'tcp' | 'udp' } {
  const [, number, protocol = 'tcp'] = /^(\d{1,5})(?:\/(tcp|udp))?$/.exec(text) ?? []
  if (number === undefined) throw invalid('guest_port', text.slice(0, 80), 'use a port such as 443, or 53/udp')
  return { guestPort: Number(number), protocol: protocol === 'udp' ? 'udp' : 'tcp' }
}

/** Of the beginning of an id, as the list shows it; the text itself when it is no port's, or of several. */
async function wholeId(
  ports: { listPorts(request: { vm: string }, options: { signal: AbortSignal }): Promise<{ ports: Port[] }> },
  start: string,
  signal: AbortSignal,
): Promise<string> {
  const found = (await ports.listPorts({ vm: '' }, { signal })).ports.filter(({ id }) => id.startsWith(start))
  if (found.length > 1) throw invalid('id', start, `the beginning of several: ${found.map(({ id }) => id).join(', ')}`)
  return found[0]?.id ?? start
}

const udp = (p: Port): string => (p.protocol === 'udp' ? '/udp' : '')

/** An IPv6 address in brackets, as addresses with ports are written. */
function published(p: Port): string {
  const address = p.scope === 'loopback' ? '127.0.0.1' : p.hostAddress || p.hostName
  return `${address.includes(':') ? `[${address}]` : address}:${p.hostPort}${udp(p)}`
}

const leadsTo = (p: Port): string => `${p.vmName}:${p.guestPort}${udp(p)}`

/** What the host said last is told as such while it does not answer. */
function stateWord(p: Port): string {
  const state = p.state ?? 'unknown'
  return p.hostUnknown && p.state !== undefined ? `${state}, last known` : state
}

/** Not counted is not zero. */
const count = (n: bigint | undefined): string => (n === undefined ? '–' : String(n))

const portSheet = (p: Port): string =>
  sheet([
    ['id', p.id],
    ['host', p.hostName],
    ['published', published(p)],
    ['leads to', leadsTo(p)],
    ['for', p.scope === 'loopback' ? 'programs on the host' : 'the network of the host'],
    ['state', stateWord(p)],
    ['reason', p.reason],
  ])
