import { NOTHING, or, type P, t, v, why } from './fault-parts.ts'

const on = (p: P) => `on ${or(p['host'], 'the host')}`

/** Words of `network/*`. */
export const NETWORK_TEXT = {
  'network/not-mendable': (p: P) =>
    t(
      `The finding ${v(p, 'finding')} ${on(p)} cannot be mended${why(p)}.`,
      NOTHING,
      'See what there is, and what you can do about it, with "eitri network preflight".',
    ),
  'network/mend-failed': (p: P) =>
    t(
      `The mend of ${v(p, 'finding')} ${on(p)} could not be changed${why(p)}.`,
      'It is as it was before.',
      'Put right what the host says and try again.',
    ),
}
