import { type FaultText, or, type P, v } from './fault-parts.ts'
import { faultText, inOneLine, printable } from './fault-text.ts'
import type { FaultCode } from './faults.ts'

type Other = Partial<FaultText>
const next = (text: string): Other => ({ next: text })

/** What a person at the window does instead, where the common words name a command or an option of it. */
const AT_WINDOW: Partial<Record<FaultCode, (p: P) => Other>> = {
  'input/unconfirmed': (p) => ({
    what: or(p['question'], 'It was not confirmed.'),
    next: 'Ask for it again, and confirm it.',
  }),
  'host/not-found': () => next('See which there are under Hosts.'),
  'host/has-vms': () =>
    next(
      'Delete and destroy them first, or remove it by "Forget only": they run on there, without protection and labels.',
    ),
  'host/none': () => next('Add one under Hosts.'),
  'host/several': () => next('Choose one.'),
  'host/not-accepting': (p) =>
    p['why'] === 'draining' ? next('Choose another host, or choose Undrain in the actions of that host.') : {},
  'host/newer-data': (p) => ({
    what: `${or(p['host'], 'The host')} has newer data than this store: nothing is sent to it.`,
    next: "Choose Use this app's data on the page of the host, once you know which is right.",
  }),
  'host/token-refused': () => next('Make a new blob under Hosts, Add host, Join by a blob; and join the host with it.'),
  'host/revoked': () =>
    next('Make a new blob under Hosts, Add host, Join by a blob; join with it, and add the host again.'),
  'host/credential-ended': () => next('Make a new blob under Hosts, Add host, Join by a blob; and join with it.'),
  'agent/several': () => next('Stop all but one there.'),
  'agent/too-old': (p) => (p['next'] === undefined ? next('Choose Update agent in the actions of the host.') : {}),
  'agent/cannot': () => next('Choose Update agent in the actions of the host first.'),
  'agent/foreign-controller': () => next('Leave it, or choose Take over in the actions of the host.'),
  'agent/remove-failed': () =>
    next('Mend that and try again, or remove the host by "Forget only", which leaves the agent there.'),
  'ssh/host-key-unknown': () => next('Compare it on the host, then accept it in the sheet.'),
  'ssh/key-unreadable': () => next('Give another key file, or leave the field empty.'),
  'ssh/passphrase-wrong': () => next('Give it again where it is asked for, or load the key into ssh-agent.'),
  'ssh/code-needed': () => next('Choose Sign in on the page of the host.'),
  'vm/not-found': () => next('See which there are under VMs.'),
  'vm/name-taken': () => next('Choose another name.'),
  'vm/unowned': () => next('Adopt it first, with Adopt in its actions.'),
  'vm/network-unknown': (p) =>
    p['has'] ? {} : next('Start its agent so that it offers that network to guests, or leave the network out.'),
  'vm/protected': () => next('Take that away first: Protect in its actions, or Protected in Edit.'),
  'vm/not-stopped': () => next('Stop it first.'),
  'template/not-found': () => next('Choose another; those that are kept are named on the page that creates VMs.'),
  'image/not-found': () => next('See which there are under Images.'),
  'image/none-default': () => next('Build or add one under Images, or choose an image.'),
  'image/not-in-catalogue': () => next('See the catalogue under Images, Add image.'),
  'network/not-mendable': () => next('Run the preflight under Networks: it says what there is, and what you can do.'),
  'port/not-found': () => next('See which there are under Published ports.'),
  'store/read-only': (p) =>
    p['next'] ? {} : next('Make a new store from what the hosts hold, or put a copy back: Settings, Data.'),
  'store/newer': () => next('Start the newer version, or put back a copy from before it: Settings, Data.'),
  'store/not-restored': (p) =>
    p['next'] ? {} : next('Choose another copy: Settings, Data, names those that are kept.'),
  'task/not-found': () => next('See those that are kept under Activity, Tasks.'),
  'tenant/not-found': () => next('Choose another.'),
  'tenant/over-quota': (p) =>
    next(
      p['quota'] === 'max_disk_gb'
        ? 'Destroy VMs that are in quarantine, or let who set the quota raise it.'
        : 'Delete VMs, or let who set the quota raise it.',
    ),
  'ca/none': (p) =>
    p['vm'] ? next('Use its console, or replace the VM.') : next(`Make a ${v(p, 'kind')} CA under Trust, Authorities.`),
  'ca/not-found': () => next('See which there are under Trust, Authorities.'),
  'ca/key-unusable': (p) => (p['next'] ? {} : next('Look at it under Trust, Authorities.')),
  'ca/needed': () => next('Replace those VMs first, or retire it all the same in its sheet, by typing its name.'),
  'certificate/not-found': () => next('See which there are under Trust, Certificates.'),
  'app/not-running': () => next('Start Eitri again; your VMs run on meanwhile.'),
}

/** Words of a fault for who is at the window: the common ones, with a next move that is there. Pure. */
export function windowFaultText(code: FaultCode, params: Record<string, string>): FaultText {
  const clean = Object.fromEntries(Object.entries(params).map(([key, value]) => [key, printable(value)]))
  return { ...faultText(code, params), ...AT_WINDOW[code]?.(clean) }
}

/** One line of them: what, effect, next. */
export function windowFaultLine(code: FaultCode, params: Record<string, string>): string {
  return inOneLine(windowFaultText(code, params))
}
