import { host, NOTHING, or, type P, t, v, why } from './fault-parts.ts'

/** Words of hosts that join, are upgraded and leave. */
export const HOST_LIFE_TEXT = {
  'host/not-accepting': (p: P) =>
    p['why'] === 'draining'
      ? t(
          `${host(p)} is drained and takes no new VMs.`,
          NOTHING,
          `Choose another host, or let it take VMs again with "eitri host drain ${or(p['host'], 'NAME')} --undo".`,
        )
      : t(`${host(p)} is being removed and takes no new VMs.`, NOTHING, 'Choose another host.'),
  'host/newer-data': (p: P) =>
    t(
      `${host(p)} has newer data than this store: nothing is sent to it until "eitri host takeover ${or(p['host'], 'NAME')} --from-older".`,
      '',
      '',
    ),
  'agent/too-old': (p: P) =>
    t(
      `The agent on ${host(p)}${p['version'] ? ` (${p['version']})` : ''} is too old for ${or(p['what'], 'this')}.`,
      NOTHING,
      p['next'] ?? `Upgrade it with "eitri host upgrade ${or(p['host'], 'NAME')}".`,
    ),
  'agent/upgrade-refused': (p: P) =>
    t(
      `The agent on ${host(p)} was not upgraded${p['version'] ? ` to ${p['version']}` : ''}${why(p)}.`,
      'The older one runs on; its VMs were not touched.',
      or(p['next'], 'Mend that and upgrade again.'),
    ),
  'agent/upgrade-rolled-back': (p: P) =>
    t(
      `The new agent${p['version'] ? ` ${p['version']}` : ''} on ${host(p)} did not come up${why(p)}.`,
      'The older one runs again; its VMs were not touched.',
      'Look at the log of the agent there before you try again.',
    ),
  /** The form is fixed: nothing follows the cause, and nothing of the blob is in it. */
  'agent/join-blob-invalid': (p: P) => t(`invalid join blob: ${or(p['problem'], 'it cannot be read')}.`, '', ''),
  'agent/join-failed': (p: P) =>
    t(
      `${host(p)} could not join${why(p)}.`,
      'What was put there was taken away again.',
      or(p['next'], 'Mend that and join again: the blob is still good until it ends.'),
    ),
  /** One sentence for every cause: it must not tell which. */
  'host/token-refused': (_: P) =>
    t(
      'token invalid, expired, or already used.',
      NOTHING,
      'Make a new one with "eitri host join-blob" and join the host with it.',
    ),
  'host/own-key-unusable': (p: P) =>
    t(
      `This app's own key for hosts that joined cannot be used${why(p)}.`,
      'Those hosts are not reached; their VMs keep running.',
      or(p['next'], 'Look at the data folder, then try again.'),
    ),
  'host/revoked': (p: P) =>
    t(
      `The credential of ${host(p)} was revoked.`,
      'Nothing it says is taken; its VMs keep running.',
      `Join it again with a new "eitri host join-blob", then "eitri host add ${or(p['host'], 'NAME')}" again.`,
    ),
  'host/credential-ended': (p: P) =>
    t(
      `The key that ${host(p)} is reached with ended${p['at'] ? ` at ${v(p, 'at')}` : ''}.`,
      'Nothing it says is taken; its VMs keep running.',
      'Join it again with a new "eitri host join-blob".',
    ),
}
