import { host, NOTHING, or, type P, t, v, vm, why } from './fault-parts.ts'

const port = (p: P) => `${p['protocol'] === 'udp' ? 'UDP port' : 'Port'} ${or(p['port'], 'of that number')}`

/** Words of `port/*`. */
export const PORT_TEXT = {
  'port/taken': (p: P) =>
    t(
      `${port(p)} on ${or(p['host'], 'the host')} is published already${p['vm'] ? `, for ${p['vm']}` : ''}.`,
      NOTHING,
      p['free'] ? `Use ${p['free']}, or another port.` : 'Use another port.',
    ),
  'port/none-free': (p: P) =>
    t(
      `There is no free host port in the reserved range${p['range'] ? ` (${p['range']})` : ''} of ${or(p['host'], 'the host')}.`,
      NOTHING,
      'Unpublish a port, or name a host port outside the range.',
    ),
  'port/not-found': (p: P) =>
    t(`There is no published port ${v(p, 'port')}.`, NOTHING, 'See the ids with "eitri port list --json".'),
  'port/no-way': (p: P) =>
    t(
      `${vm(p)} cannot be reached${p['host'] ? ` from ${host(p)}` : ''}${why(p)}.`,
      'Nothing was sent.',
      'Try again once it runs and has an address.',
    ),
  'port/not-taken': (p: P) =>
    t(
      `${vm(p)} takes no connection on port ${v(p, 'port')}${why(p)}.`,
      'Nothing was sent.',
      'Check that a program listens there inside the guest.',
    ),
  'port/too-many': (p: P) =>
    t(
      `${or(p['limit'], 'As many connections as may be')} connections to ${or(p['to'], vm(p))} are open already.`,
      'This one was not made.',
      'End one of them, or try again later.',
    ),
  'port/broken': (p: P) =>
    t(
      `The connection to port ${or(p['port'], 'of that number')} of ${vm(p)} broke${why(p)}.`,
      'What was under way in it was cut off.',
      'Connect again.',
    ),
}
