import { FAILPOINTS, type Failpoint, phasesOf } from '../../../src/agent/os/failpoints.ts'
import type { Reached } from './crash-run.ts'
import * as steps from './crash-steps.ts'

type Where = steps.Step | 'first start'

/** The step that reaches each name; every one is crashed there. */
const PLAN: readonly [Where, readonly Failpoint[]][] = [
  [
    'first start',
    [
      ...(['state.dir', 'reserve.fill', 'lock.take', 'trash.empty', 'identity.create', 'images.dir'] as const),
      ...(['socket.dir', 'socket-dir.mode', 'socket.remove', 'socket.mode', 'agent-log.append'] as const),
      ...(['probe.dir', 'probe.image', 'probe.run', 'probe.clear', 'vmm.ask-version', 'identity.save'] as const),
      'lock.release',
    ],
  ],
  [
    steps.createFromUrl,
    [
      ...([
        'desired.save',
        'vm-dir.make',
        'record.save',
        'host-key.write',
        'vmm.ask-machines',
        'vmm.ask-tool',
      ] as const),
      ...(['image.open', 'image.get', 'image.restart', 'image.reopen', 'image.origin', 'image.append'] as const),
      ...(['image.publish', 'image.origin-discard', 'disk.create', 'disk.publish', 'seed.write'] as const),
      ...(['vmm.forget-note', 'vmm.forget-pidfile', 'vmm.spawn', 'vmm.note', 'qmp.attach'] as const),
    ],
  ],
  [
    steps.startAgain,
    [
      ...(['lock.guard', 'lock.unguard-dead', 'lock.break', 'lock.unguard'] as const),
      ...(['images.clean', 'state.clean', 'vm-dir.clean', 'probe.kill'] as const),
    ],
  ],
  [steps.fullLog, ['agent-log.rotate', 'agent-log.cut']],
  [steps.longConsole, ['console.head', 'console.punch']],
  [steps.stopGently, ['qmp.power-button']],
  [steps.stopByForce, ['qmp.quit']],
  [steps.growRunning, ['qmp.resize']],
  [steps.growStopped, ['disk.grow']],
  [steps.cloneStopped, ['disk.share', 'disk.copy', 'disk.clone-grow', 'disk.clone-publish']],
  [steps.noRoomForClone, ['disk.clone-discard']],
  [steps.lostList, ['revoked.save']],
  [steps.damagedDesired, ['desired.aside']],
  [steps.purge, ['vmm.kill', 'trash.dir', 'vm.remove']],
  [steps.createKernel, ['kernel.dir', 'kernel.extract', 'kernel.cmdline', 'kernel.clear', 'kernel.publish']],
  [steps.collect, ['images.usage', 'image.collect', 'image.collect-kernel', 'image.collect-file']],
  [steps.pushWrong, ['image.discard']],
  [steps.pushShorter, ['image.drop']],
  [steps.noRoomForImage, ['image.cut']],
  [steps.noRoomForDisk, ['disk.discard']],
  [steps.noRoomForKernel, ['kernel.discard']],
]

/** One crash a name: in the middle of the call where it has one, else before it. */
export const shortPlan = (): Reached[] =>
  PLAN.flatMap(([step, names]) =>
    names.map((name) => ({ step, place: `${name}:${phasesOf(name).includes('between') ? 'between' : 'before'}` })),
  )

/** Names that no agent with QEMU on this machine reaches, and why. */
const NOT_HERE: readonly [RegExp, string][] = [
  [/^(ch|ch-disk|serial)\./, 'only under cloud-hypervisor'],
  [/^disk\.(clone-)?grow-raw$/, 'only for hypervisors that take raw disks'],
  [/^qmp\.human$/, 'only for published ports of guests in user mode'],
  [/^(network|tap)\./, 'only where guests are on a bridge, see the tests of guest networks'],
  [/^(vfkit|vfkit-disk)\./, 'only on macOS'],
  [/^(preflight|mend)\./, 'only where the agent has the network of its host'],
  [/^guard\./, 'only where the operator gave VMs a network; cut off in operator-networks.test.ts'],
  [
    /^(install|program|bundle|wrapper|group|run-dir|unit|systemd|linger|user-manager|openrc|cron|uninstall)\./,
    'of install and uninstall, which change no VM and are repeated whole',
  ],
  [/^(start\.dir|agent\.(spawn|terminate|kill)|agent-log\.keep)$/, 'of the command that starts an agent'],
  [/^socket(-dir)?\.owner$/, 'only for a root agent on a host with the group eitri'],
  [/^guest\./, 'only with a guest agent in the guest'],
  [/^join\./, 'of the command that lets a control plane in, and of its key, which changes no VM'],
  [/^upgrade\./, 'of taking another agent in its place, cut off at each step in agent-upgrade-crash.test.ts'],
  [/^history\./, 'of numbers written every ten minutes, cut off at each step in history.test.ts'],
  [/^host-clock\./, 'only looks, and only at a daemon this host may not have'],
  [/^reserve\.(open|cut)$/, 'only on a full disk'],
]

/** Why a name is not crashed here; undefined = it is. */
export const whyNotHere = (name: Failpoint): string | undefined => NOT_HERE.find(([names]) => names.test(name))?.[1]

/** Names in the code that are neither crashed by a plan nor excused. */
export function forgotten(crashed: ReadonlySet<string>): string[] {
  return FAILPOINTS.filter((name) => !crashed.has(name) && whyNotHere(name) === undefined)
}
