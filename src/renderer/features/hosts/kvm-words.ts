import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'

/** Why guests of a host are slow, what that means and what to do. */
export interface KvmWords {
  what: string
  effect: string
  /** A sentence. Empty = nothing can be done. */
  next: string
  /** For a shell on the host. Empty = none mends it. */
  command: string
}

/** Guests that run under emulation, said in plain words; undefined = they do not, or the host has not said. Pure. */
export function kvmWords({
  name,
  acceleration,
  accelerationDetail: detail,
  runsAs,
}: Pick<Host, 'name' | 'acceleration' | 'accelerationDetail' | 'runsAs'>): KvmWords | undefined {
  if (acceleration !== 'tcg') return undefined
  const effect = 'They are several times slower than with KVM.'
  const said = detail.replace(/;.*|\.$/, '')
  const what = `Guests on ${name} run under emulation${said ? `: ${said}` : ''}.`
  if (/not probed on this architecture/.test(detail)) return { what, effect, next: '', command: '' }
  if (/may not be opened|permission|denied|not readable|EACCES/i.test(detail))
    return {
      ...{ what, effect, command: `sudo usermod -aG kvm ${runsAs || 'USER'}` },
      next: `Let ${runsAs || 'the user of its agent'} use it, then sign out there, sign in again and restart its agent.`,
    }
  if (/there is no|not there/i.test(detail))
    return {
      ...{ what, effect, command: 'sudo modprobe kvm_intel || sudo modprobe kvm_amd' },
      next: 'Turn on Intel VT-x, or AMD-V (also named SVM), in its BIOS, then load the module. If it is a VM itself, turn on nested virtualisation where it runs.',
    }
  return {
    ...{ what, effect, command: 'sudo dmesg | grep -i kvm' },
    next: 'What its kernel says of KVM may tell why.',
  }
}
