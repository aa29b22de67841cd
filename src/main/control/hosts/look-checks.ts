import { GiB } from '../../../ipc/units.ts'
import type { StepCheck } from '../tasks/task-context.ts'
import type { InstallMode } from './install-plan.ts'
import { type HostLook, INSTALL_NEEDS_BYTES } from './look.ts'
import { missingPackages } from './packages.ts'

/** Pure: what a look saw, line by line, with the one command that mends what is not well. */
export function lookChecks(look: HostLook, mode: InstallMode): StepCheck[] {
  return [
    ok('System', [look.os, look.machine, look.kernel].filter(Boolean).join(' · ')),
    virtualisation(look, mode),
    programs(look),
    disk(look, mode),
    service(look),
    ...(mode === 'sudo' ? [sudo(look)] : []),
    ok('Ports', 'none is opened: sshd stays the only door'),
    ...(look.agent ? [ok('Agent', `${look.agent.status?.agentVersion ?? 'one'} is installed there already`)] : []),
  ]
}

const ok = (name: string, detail: string): StepCheck => ({ name, state: 'ok', detail, command: '' })

function virtualisation(look: HostLook, mode: InstallMode): StepCheck {
  const check = (state: StepCheck['state'], detail: string, command: string) => ({
    ...{ name: 'Virtualisation', state, detail, command },
  })
  if (look.kvm === 'usable') return ok('Virtualisation', 'KVM')
  if (look.kvm === 'denied') {
    if (mode !== 'user') return ok('Virtualisation', 'KVM, for the agent that runs as root')
    const detail = `/dev/kvm is not readable by ${look.user}: VMs run under emulation, several times slower, until it is`
    return check('note', detail, `sudo usermod -aG kvm ${look.user}`)
  }
  if (!look.virtualisation) {
    const detail =
      'the processor shows none: VMs run under emulation, several times slower. Turn on VT-x or AMD-V (SVM) in the BIOS, or nested virtualisation where it runs if it is a VM'
    return check('note', detail, '')
  }
  const detail =
    'the processor can, but /dev/kvm is not there: VMs run under emulation, several times slower, until it is'
  return check('note', detail, 'sudo modprobe kvm_intel || sudo modprobe kvm_amd')
}

function programs(look: HostLook): StepCheck {
  const lacking = missingPackages(look)
  if (!lacking) return ok('Programs', 'QEMU and qemu-img')
  const { missing, command } = lacking
  const asRoot = command === '' || look.isRoot ? command : `sudo sh -c '${command}'`
  return { name: 'Programs', state: 'failed', detail: `${missing.join(', ')} are missing`, command: asRoot }
}

function disk(look: HostLook, mode: InstallMode): StepCheck {
  const [free, place] = mode === 'user' ? [look.homeFreeBytes, look.home] : [look.systemFreeBytes, '/usr/local']
  if (free === undefined) return { name: 'Disk', state: 'note', detail: 'how much is free is not known', command: '' }
  const gib = (bytes: number) =>
    bytes < 1000 * GiB ? `${(bytes / GiB).toFixed(1)} GB` : `${(bytes / GiB / 1024).toFixed(1)} TB`
  if (free >= INSTALL_NEEDS_BYTES) return ok('Disk', `${gib(free)} free at ${place}`)
  return {
    name: 'Disk',
    state: 'failed',
    detail: `${gib(free)} free at ${place}, the agent needs ${gib(INSTALL_NEEDS_BYTES)}`,
    command: 'sudo du -xh --max-depth=2 / | sort -h | tail -20',
  }
}

function service({ init, packageManager }: HostLook): StepCheck {
  if (init !== 'none') return ok('Service', `${init} starts the agent again after a reboot`)
  const detail = 'no service manager: the agent may not come back by itself after a reboot'
  return { name: 'Service', state: 'note', detail, command: packageManager === 'apk' ? 'apk add openrc' : '' }
}

function sudo({ sudo: means, user }: HostLook): StepCheck {
  const words = { root: 'not needed', free: 'without a password', password: 'with the password', none: '' }[means]
  if (words !== '') return ok('sudo', words)
  return { name: 'sudo', state: 'failed', detail: `there is no sudo for ${user}`, command: '' }
}
