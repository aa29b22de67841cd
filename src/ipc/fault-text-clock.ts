import { host, type P, t, vm, why } from './fault-parts.ts'

/** Words of `clock/*`. */
export const CLOCK_TEXT = {
  'clock/not-set': (p: P) =>
    t(
      `The clock of ${vm(p)} was not set${why(p)}.`,
      'The guest keeps the time it has.',
      'Set it inside the guest, or install the guest agent there.',
    ),
  'clock/left-alone': (p: P) =>
    t(
      `The clock of ${vm(p)} is not ${host(p)}'s to set${p['policy'] ? `: its policy is "${p['policy']}"` : ''}${why(p)}.`,
      'Nothing was changed.',
      'Change the policy first, or leave it to what keeps it now.',
    ),
  'clock/not-running': (p: P) =>
    t(
      `${vm(p)} does not run${p['host'] ? ` on ${host(p)}` : ''}: it has no clock to set.`,
      'Nothing was changed.',
      'Start it first.',
    ),
}
