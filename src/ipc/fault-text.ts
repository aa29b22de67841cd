import { type FaultText, host, NOTHING, or, type P, t, v, vm, why } from './fault-parts.ts'
import { CLOCK_TEXT } from './fault-text-clock.ts'
import { CLOUD_INIT_TEXT } from './fault-text-cloud-init.ts'
import { HOST_LIFE_TEXT } from './fault-text-host-life.ts'
import { IMAGE_TEXT } from './fault-text-images.ts'
import { NETWORK_TEXT } from './fault-text-network.ts'
import { PORT_TEXT } from './fault-text-ports.ts'
import { SSH_TEXT } from './fault-text-ssh.ts'
import { STORE_TEXT } from './fault-text-store.ts'
import { TASK_TEXT } from './fault-text-tasks.ts'
import { TENANT_TEXT } from './fault-text-tenants.ts'
import { TRUST_TEXT } from './fault-text-trust.ts'
import { VM_EDIT_TEXT } from './fault-text-vms.ts'
import type { FaultCode } from './faults.ts'

export type { FaultText }

const TEXT: Record<FaultCode, (p: P) => FaultText> = {
  'input/invalid': (p) =>
    t(
      p['value']
        ? `${or(p['field'], 'input')} "${v(p, 'value')}" is not valid: ${or(p['problem'], 'not allowed')}.`
        : `${or(p['field'], 'Input')} is not valid: ${or(p['problem'], 'not allowed')}.`,
      NOTHING,
      'Correct it and try again.',
    ),
  'input/too-large': (p) => t(`The request is larger than allowed${why(p)}.`, NOTHING, 'Send less.'),
  'input/unconfirmed': (p) => t(`${or(p['question'], 'Sure?')} Say yes with --yes.`, NOTHING, ''),
  'host/not-found': (p) =>
    t(`There is no host ${or(p['host'], 'of that name')}.`, NOTHING, 'See the names with "eitri host list".'),
  'host/name-taken': (p) => t(`A host named ${v(p, 'host')} is already here.`, NOTHING, 'Choose another name.'),
  'host/already-added': (p) =>
    t(
      `This machine is already in the fleet${p['host'] ? ` as ${p['host']}` : ', in another tenant'}.`,
      NOTHING,
      'Use that host, or remove it first.',
    ),
  'host/has-vms': (p) =>
    t(
      `${host(p)} still has VMs: ${v(p, 'vms')}.`,
      NOTHING,
      'Delete and purge them first, or remove with --force, which leaves them running there and loses their protection and labels.',
    ),
  'host/unreachable': (p) =>
    t(
      `No answer from ${or(p['address'], host(p))}${why(p)}.`,
      p['adding'] ? NOTHING : 'Its VMs are unknown, not stopped.',
      p['adding']
        ? 'Check the address and the network, then add it again.'
        : 'Check the address and the network; it is tried again by itself.',
    ),
  'host/no-answer': (p) =>
    t(`${host(p)} stopped answering.`, 'Its VMs are unknown, not stopped.', 'It is tried again by itself.'),
  'host/none': () => t('There is no host yet.', NOTHING, 'Add one with "eitri host add NAME --local" or "--ssh HOST".'),
  'host/several': (p) => t(`There are several hosts: ${v(p, 'hosts')}.`, NOTHING, 'Say which with --host.'),
  'host/local-impossible': (p) => t(`This computer cannot run VMs${why(p)}.`, NOTHING, 'Add a host over SSH instead.'),
  'host/unsupported': (p) =>
    t(
      `${host(p)} cannot run the agent${why(p)}.`,
      NOTHING,
      or(p['next'], 'Use a Linux host with glibc 2.28 or newer, x86_64.'),
    ),
  'host/packages-missing': (p) =>
    t(
      `${host(p)} lacks ${v(p, 'missing')}.`,
      NOTHING,
      p['command'] ? `Install there with: ${v(p, 'command')}` : 'Install them there and try again.',
    ),
  'host/identity-mismatch': (p) =>
    t(
      `${host(p)} answered with another agent identity than the one installed.`,
      'Nothing it said was applied.',
      'If it was rebuilt, remove the host and add it again.',
    ),
  'host/disk-full': (p) =>
    t(
      `${host(p)} has ${or(p['free'], 'too little')} free${p['where'] ? ` in ${p['where']}` : ''}; this needs ${or(p['needed'], 'more')}${p['reserve'] ? ` beside the ${p['reserve']} kept free` : ''}${why(p)}.`,
      NOTHING,
      'Free some space there.',
    ),
  'agent/missing': (p) =>
    t(`There is no agent on ${host(p)}.`, 'Its VMs are unknown.', 'Add the host again to install it.'),
  'agent/not-running': (p) =>
    t(
      `${host(p)} is up but its agent does not run${why(p)}.`,
      'VMs keep running; changes wait.',
      'It is started again by itself.',
    ),
  'agent/several': (p) =>
    t(`There are several agents here: ${v(p, 'agents')}.`, NOTHING, 'Say which with --state-dir.'),
  'agent/already-running': (p) =>
    t(
      p['dir']
        ? `An agent already uses ${p['dir']} (pid ${v(p, 'pid')}).`
        : `An agent already listens on ${or(p['socket'], 'this socket')}.`,
      NOTHING,
      'Use that one, or stop it first.',
    ),
  'agent/identity-damaged': (p) =>
    t(
      `The agent's identity file ${or(p['file'], 'identity.json')}${p['host'] ? ` on ${p['host']}` : ''} cannot be used${why(p)}.`,
      'It was left as it is; the agent does not start, its VMs keep running.',
      'Put the file back from a backup; without one, remove the host, move the file away and add the host again.',
    ),
  'agent/identity-newer': (p) =>
    t(
      `The agent's identity file ${or(p['file'], 'identity.json')}${p['host'] ? ` on ${p['host']}` : ''} was written by a newer agent (version ${v(p, 'version')}; this one knows ${or(p['known'], 'older ones')}).`,
      'It was left as it is; the agent does not start, its VMs keep running.',
      'Install the newer agent again.',
    ),
  'agent/state-unusable': (p) =>
    t(
      `The agent cannot use ${or(p['dir'], 'its state directory')}${p['host'] ? ` on ${p['host']}` : ''}${why(p)}.`,
      'The agent does not start; its VMs keep running.',
      'Make it a directory that the user of the agent may read and write, on a disk that can be written; then start the agent again.',
    ),
  'agent/version-skew': (p) =>
    t(
      `The agent on ${host(p)} speaks another protocol version.`,
      'VMs keep running; changes wait.',
      'Update the agent or the app.',
    ),
  'agent/foreign-controller': (p) =>
    t(
      `${host(p)} is held by another control plane${p['controller'] ? `, the Eitri of ${v(p, 'controller')}` : ''}.`,
      'It answers that one alone; its VMs keep running.',
      `Leave it, or take it over: Take over in the window, "eitri host takeover ${or(p['host'], 'NAME')}", or --take-over with "host add".`,
    ),
  'agent/superseded': (p) =>
    t(`A newer session took over ${host(p)}.`, 'This one stopped.', 'It is tried again by itself.'),
  'agent/auth-rejected': (p) =>
    t(`The agent on ${host(p)} refused the session${why(p)}.`, NOTHING, 'Add the host again.'),
  'agent/install-failed': (p) =>
    t(
      `The agent could not be installed on ${host(p)}${why(p)}.`,
      'What was put there was removed.',
      'Mend that and try again.',
    ),
  'agent/remove-failed': (p) =>
    t(
      `The agent could not be removed from ${host(p)}${why(p)}.`,
      'The host stays in the fleet.',
      'Mend that and try again, or remove the host without --uninstall.',
    ),
  'agent/misbehaved': (p) =>
    t(
      `The agent on ${host(p)} broke the protocol${why(p)}.`,
      'The connection was closed; its VMs keep running.',
      'Update the agent; look at its log if it goes on.',
    ),
  'vm/not-found': (p) =>
    t(`There is no VM ${or(p['vm'], 'of that name')}.`, NOTHING, 'See the names with "eitri vm list".'),
  'vm/name-taken': (p) =>
    t(
      `vm name already in use: ${v(p, 'vm')}.`,
      NOTHING,
      p['kept'] ? 'Give it another name, with --as NAME.' : 'Choose another name.',
    ),
  'vm/ambiguous': (p) => t(`Several such VMs are named ${v(p, 'vm')}: ${v(p, 'ids')}.`, NOTHING, 'Use the id.'),
  'vm/deleted': (p) => t(`${vm(p)} is deleted.`, NOTHING, 'Undelete it first.'),
  'vm/not-deleted': (p) => t(`${vm(p)} is not in quarantine.`, NOTHING, 'Delete it first.'),
  'vm/unowned': (p) =>
    t(
      `${vm(p)}${p['host'] ? ` on ${p['host']}` : ''} is not of this fleet: its host keeps it as it is.`,
      NOTHING,
      `Adopt it first, with "eitri vm adopt ${or(p['vm'], 'ID')}".`,
    ),
  'vm/create-failed': (p) =>
    t(
      `${vm(p)} could not be created${why(p)}.`,
      'It is not running.',
      'Mend that; changing or starting it tries again.',
    ),
  'vm/create-cut-short': (p) =>
    t(
      `${vm(p)} could not be created: the agent of its host ended during each try${p['log'] ? ` (its log: ${p['log']}, or the journal)` : ''}.`,
      'It is not running.',
      'Run "eitri-agent doctor" on that host and read the log of its agent; starting or changing the VM tries again.',
    ),
  'vm/start-failed': (p) =>
    t(`${vm(p)} did not start${why(p)}.`, 'It is not running; its disk is untouched.', 'It is tried again by itself.'),
  'vm/stop-failed': (p) => t(`${vm(p)} did not stop${why(p)}.`, 'It may still run.', 'Force the stop.'),
  'vm/destroy-failed': (p) =>
    t(`What is left of ${vm(p)} could not be removed${why(p)}.`, 'It is stopped.', 'It is tried again by itself.'),
  'vm/exited': (p) =>
    t(`${vm(p)} ended by itself${why(p)}.`, 'Its disk is untouched.', 'It is started again by itself.'),
  'vm/powered-off': (p) =>
    t(
      `${vm(p)} was powered off from inside${why(p)}.`,
      'It is meant to run, so it is started again.',
      'To keep it off, stop it from here.',
    ),
  'vm/crash-loop': (p) =>
    t(
      `${vm(p)} ended by itself ${or(p['times'], 'three')} times in a row, each soon after its start${why(p)}.`,
      'It is not started any more; its disk is untouched.',
      'Look at its console, then start it again or change it.',
    ),
  'vm/hung': (p) =>
    t(
      `The hypervisor of ${vm(p)} does not answer${why(p)}.`,
      'Its process lives and is left alone.',
      'Look at its console; stop it by force when the guest is dead.',
    ),
  'vm/panicked': (p) =>
    t(
      `The kernel of ${vm(p)} panicked${why(p)}.`,
      'The guest executes nothing; its disk is untouched.',
      'Look at its console, then restart it.',
    ),
  'vm/io-error': (p) =>
    t(
      `${vm(p)} is paused: its host cannot write its disk${why(p)}.`,
      'Nothing is lost; the guest waits.',
      'Free some space on its host; it goes on by itself.',
    ),
  'vm/resetting': (p) =>
    t(
      `${vm(p)} resets itself over and over${why(p)}.`,
      'It does not get to work.',
      'Look at its console: most likely its kernel panics at boot.',
    ),
  'vm/over-capacity': (p) => t(`No room for ${vm(p)}${why(p)}.`, 'It waits.', 'It starts when room is free.'),
  'vm/too-large': (p) =>
    t(
      `${vm(p)} would have ${v(p, 'wanted')} of ${v(p, 'what')}; ${host(p)} has ${v(p, 'has')}${p['most'] ? `, and takes at most ${p['most']}` : ''}.`,
      NOTHING,
      'Give it less, or choose a larger host.',
    ),
  'vm/waiting': (p) => t(`${vm(p)} waits${why(p)}.`, '', ''),
  'vm/record-unreadable': (p) =>
    t(
      `The record of ${vm(p)} cannot be read${p['file'] ? ` (${p['file']})` : ''}.`,
      'Nothing is done to it.',
      p['file'] ? 'Look at that file on its host.' : 'Look at the file named in the agent log.',
    ),
  'vm/network-full': (p) =>
    t(
      `${host(p)} has no address left for ${vm(p)} in its network ${v(p, 'network')}.`,
      NOTHING,
      'Delete a VM that is not needed there, or choose another host.',
    ),
  'vm/network-unknown': (p) =>
    t(
      `${host(p)} serves no network ${v(p, 'network')}.`,
      NOTHING,
      p['has'] ? `It serves: ${v(p, 'has')}.` : 'Start its agent with --host-network, or leave the network out.',
    ),
  'vm/network-failed': (p) =>
    t(
      `${vm(p)} cannot be put on ${p['network'] ? `the network ${v(p, 'network')}` : 'its network'}${why(p)}.`,
      'It is not started: a VM without its network is of no use.',
      'Mend that on the host; it is tried again by itself.',
    ),
  'vmm/missing': (p) =>
    p['backend']
      ? t(
          `${host(p)} has no backend ${p['backend']}${p['has'] ? `; its agent uses ${p['has']}` : ''}.`,
          NOTHING,
          p['has'] ? `Leave the backend out, or choose ${p['has']}.` : 'Run "eitri-agent doctor" there.',
        )
      : t(
          `${host(p)} has no hypervisor${why(p)}.`,
          'VMs cannot run there.',
          p['command']
            ? `Install it with: ${v(p, 'command')}`
            : 'Run "eitri-agent doctor" there: it names what is missing.',
        ),
  'vmm/failed': (p) =>
    t(`The hypervisor of ${vm(p)} failed${why(p)}.`, 'The VM is not running.', 'Look at its console and log.'),
  'vmm/machine-gone': (p) =>
    t(
      `The hypervisor on ${or(p['host'], 'the host')} no longer offers the machine type ${v(p, 'machine')}, with which ${vm(p)} was made.`,
      'The VM is not started on other hardware; its disk is untouched.',
      `Install a QEMU that offers it${p['newest'] ? `; the newest type here is ${v(p, 'newest')}` : ''}.`,
    ),
  ...HOST_LIFE_TEXT,
  ...IMAGE_TEXT,
  ...CLOUD_INIT_TEXT,
  ...PORT_TEXT,
  ...STORE_TEXT,
  ...SSH_TEXT,
  ...TENANT_TEXT,
  ...TRUST_TEXT,
  ...VM_EDIT_TEXT,
  ...NETWORK_TEXT,
  ...CLOCK_TEXT,
  'console/unavailable': (p) =>
    t(
      `console unavailable: ${or(p['detail'] ?? p['message'], `${vm(p)} on ${host(p)}`)}.`,
      p['next'] ? '' : 'The VM is not affected.',
      or(p['next'], 'It reconnects by itself.'),
    ),
  'console/read-only': (p) =>
    t(`The keyboard of ${vm(p)} is held by another viewer.`, 'Nothing was typed.', 'Take the keyboard.'),
  ...TASK_TEXT,
  'app/not-running': (p) =>
    t(
      `The app does not answer${p['socket'] ? ` on ${v(p, 'socket')}` : ''}.`,
      NOTHING,
      'Start it, or run "eitri serve", or add --embedded.',
    ),
  'app/already-running': (p) =>
    t(`Another control plane holds ${v(p, 'data_dir')} (pid ${v(p, 'pid')}).`, NOTHING, 'Use that one.'),
  'app/part-missing': (p) => t(`${or(p['part'], 'A part')} is missing here.`, NOTHING, or(p['next'], 'Install it.')),
  'app/timeout': (p) =>
    t(
      `Not done within ${or(p['timeout'], 'the time given')}.`,
      'It is still going on.',
      'Wait longer, or look at it again.',
    ),
  'app/cancelled': () => t('Cancelled.', '', ''),
  'app/bug': (p) =>
    t(`An unexpected fault inside Eitri${why(p)}.`, 'It is in the log.', 'Please report it with the details.'),
}

/** Total over the codes; control and bidirectional-override characters from a host are stripped. */
export function faultText(code: FaultCode, params: Record<string, string>): FaultText {
  const clean = Object.fromEntries(Object.entries(params).map(([k, v]) => [k, printable(v)]))
  return TEXT[code](clean)
}

/** One line: what, effect, next. */
export function faultLine(code: FaultCode, params: Record<string, string>): string {
  return inOneLine(faultText(code, params))
}

export const inOneLine = ({ what, effect, next }: FaultText): string => [what, effect, next].filter(Boolean).join(' ')

/** Text from a host as plain text: no control, ANSI or bidirectional-override characters, at most 400 characters. */
export function printable(text: string): string {
  return text
    .replace(/\x1b\[[0-9;?]*[ -/]*[@-~]/g, '')
    .replace(/[\0-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]+/g, ' ')
    .trim()
    .slice(0, 400)
}
