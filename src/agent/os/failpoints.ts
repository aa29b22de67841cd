/** Calls with two halves: what is new is whole beside, then it takes its place. */
const TWO_STEP = [
  'bundle.copy',
  'ch-disk.create',
  'ch-disk.grow',
  'ch-disk.publish',
  'ch.ask-tool',
  'ch.ask-version',
  'console.head',
  'console.punch',
  'cron.list',
  'cron.load',
  'cron.write',
  'desired.save',
  'disk.create',
  'disk.publish',
  'group.add-member',
  'group.make',
  'group.remove',
  'group.remove-member',
  'host-key.write',
  'identity.create',
  'identity.save',
  'image.origin',
  'image.publish',
  'images.usage',
  'install.note',
  'kernel.cmdline',
  'linger.ask',
  'linger.enable',
  'openrc.add',
  'openrc.delete',
  'openrc.end',
  'openrc.restart',
  'openrc.stop',
  'openrc.write',
  'probe.image',
  'probe.run',
  'program.copy',
  'program.link',
  'record.save',
  'seed.write',
  'systemd.disable',
  'systemd.enable',
  'systemd.forget',
  'systemd.reload',
  'systemd.restart',
  'systemd.stop',
  'tap.ask',
  'tap.make',
  'tap.remove',
  'tap.up',
  'unit.write',
  'user-manager.ask',
  'vfkit-disk.convert',
  'vfkit-disk.publish',
  'vfkit.ask-version',
  'vfkit.probe',
  'vfkit.raw',
  'vm.remove',
  'vmm.ask-machines',
  'vmm.ask-tool',
  'vmm.ask-version',
  'vmm.note',
  'wrapper.write',
] as const

const ONE_STEP = [
  'agent-log.append',
  'agent-log.cut',
  'agent-log.keep',
  'agent-log.rotate',
  'agent.kill',
  'agent.spawn',
  'agent.terminate',
  'ch-disk.discard',
  'ch.boot',
  'ch.clear',
  'ch.create',
  'ch.power-button',
  'ch.resume',
  'ch.shutdown',
  'ch.shutdown-vmm',
  'ch.spawn',
  'ch.terminate',
  'cron.clean',
  'desired.aside',
  'disk.discard',
  'image.append',
  'image.collect',
  'image.collect-file',
  'image.collect-kernel',
  'image.cut',
  'image.discard',
  'image.drop',
  'image.get',
  'image.open',
  'image.origin-discard',
  'image.reopen',
  'image.restart',
  'images.clean',
  'images.dir',
  'install.dir',
  'install.undo-dir',
  'kernel.clear',
  'kernel.dir',
  'kernel.discard',
  'kernel.extract',
  'kernel.publish',
  'lock.break',
  'lock.guard',
  'lock.release',
  'lock.take',
  'lock.unguard',
  'lock.unguard-dead',
  'openrc.remove',
  'probe.clear',
  'probe.dir',
  'qmp.attach',
  'qmp.power-button',
  'qmp.quit',
  'program.dir',
  'program.undo',
  'program.unlink',
  'run-dir.mode',
  'run-dir.owner',
  'serial.append',
  'serial.open',
  'socket-dir.mode',
  'socket-dir.owner',
  'socket.dir',
  'socket.mode',
  'socket.owner',
  'socket.remove',
  'start.dir',
  'state.dir',
  'trash.dir',
  'trash.empty',
  'uninstall.empty',
  'uninstall.remove',
  'uninstall.socket-dir',
  'unit.dir',
  'unit.remove',
  'vfkit-disk.clone',
  'vfkit-disk.discard',
  'vfkit-disk.grow',
  'vfkit.clear',
  'vfkit.command',
  'vfkit.socket-dir',
  'vfkit.spawn',
  'vfkit.terminate',
  'vm-dir.make',
  'vmm.forget-note',
  'vmm.forget-pidfile',
  'vmm.kill',
  'vmm.spawn',
] as const

/** Every place where the agent changes something outside itself: one name, one call. */
export const FAILPOINTS = [...TWO_STEP, ...ONE_STEP] as const
export type TwoStepPoint = (typeof TWO_STEP)[number]
export type Failpoint = (typeof FAILPOINTS)[number]

/** `between`: the new is whole beside and has not taken its place. */
export type Phase = 'before' | 'between' | 'after'
export const phasesOf = (point: Failpoint): readonly Phase[] =>
  TWO_STEP.some((name) => name === point) ? ['before', 'between', 'after'] : ['before', 'after']

type Heard = (point: Failpoint, phase: Phase) => void
let heard: Heard | undefined

/** Says that a place was reached. Costs one comparison while nobody listens. */
export function hit(point: Failpoint, phase: Phase): void {
  heard?.(point, phase)
}

/** Who hears of every hit; undefined = nobody. */
export function onHit(fn: Heard | undefined): void {
  heard = fn
}

/** An external call that is neither file nor process: a hypervisor's API, a server. */
export async function around<T>(point: Failpoint, call: () => Promise<T>): Promise<T> {
  hit(point, 'before')
  const result = await call()
  hit(point, 'after')
  return result
}
