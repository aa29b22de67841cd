import { NOTHING, or, type P, t, vm } from './fault-parts.ts'

/** From here on something is on the host. */
const ON_HOST = new Set(['Install agent', 'Start agent', 'First report'])

const cutShort = (p: P, doing: string) =>
  `Eitri stopped while it was ${doing}${p['step'] ? `, at "${p['step']}"` : ''}.`

/** Words of `task/*`. */
export const TASK_TEXT = {
  'task/not-found': () => t('There is no such task.', NOTHING, 'See "eitri task list".'),
  'task/wrong-question': () => t('The task does not ask that any more.', NOTHING, 'Look at what it asks now.'),
  'task/not-cancelled': (p: P) =>
    t(
      `The host of ${vm(p)} is carrying this out already.`,
      NOTHING,
      'Ask for the opposite: it takes the place of this.',
    ),
  'task/interrupted': (p: P) => {
    const subject = or(p['subject'], 'it')
    switch (p['kind']) {
      case 'add_host':
        return t(
          cutShort(p, `adding host ${subject}`),
          ON_HOST.has(p['step'] ?? '')
            ? `${subject} is not in the fleet. An agent may be on it already; it runs no VMs.`
            : `${subject} is not in the fleet, and nothing was put on it.`,
          'Add it again: what is there already is used.',
        )
      case 'sign_in':
        return t(cutShort(p, `signing in to ${subject}`), 'Its VMs are not affected.', 'Sign in again.')
      case 'upgrade_host':
        return t(
          cutShort(p, `upgrading the agent of ${subject}`),
          'Its VMs keep running. The host goes back to its old agent by itself if the new one does not come up.',
          'Look at its agent version, and upgrade again if it is the old one.',
        )
      case 'import_image':
        return t(
          cutShort(p, `importing image ${subject}`),
          'It is not in the catalogue. The file it came from was not touched.',
          'Import it again.',
        )
      default:
        return t(cutShort(p, or(p['subject'], 'at this')), 'What was done until then stays.', 'Start it again.')
    }
  },
}
