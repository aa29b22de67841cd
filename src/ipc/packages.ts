import { lookup } from './base/lookup.ts'
/** What a host can lack that a package brings. */
export const PACKAGED_PARTS = ['qemu', 'qemu-img', 'vfkit', 'nft', 'dnsmasq', 'ip', 'sftp-server', 'chrony'] as const
export type PackagedPart = (typeof PACKAGED_PARTS)[number]

interface Manager {
  /** Commands before the names, run one after the other; the names follow the last. */
  install: readonly string[]
  packages: Partial<Record<PackagedPart, string | { x86_64: string; aarch64: string }>>
}

const DNF: Manager['packages'] = {
  qemu: 'qemu-kvm',
  'qemu-img': 'qemu-img',
  nft: 'nftables',
  dnsmasq: 'dnsmasq',
  ip: 'iproute',
  'sftp-server': 'openssh-server',
  chrony: 'chrony',
}

const MANAGERS: Record<string, Manager> = {
  'apt-get': {
    install: ['apt-get update', 'apt-get install -y --no-install-recommends'],
    packages: {
      qemu: { x86_64: 'qemu-system-x86', aarch64: 'qemu-system-arm qemu-efi-aarch64' },
      'qemu-img': 'qemu-utils',
      nft: 'nftables',
      dnsmasq: 'dnsmasq-base',
      ip: 'iproute2',
      'sftp-server': 'openssh-sftp-server',
      chrony: 'chrony',
    },
  },
  dnf: { install: ['dnf install -y'], packages: DNF },
  yum: { install: ['yum install -y'], packages: DNF },
  zypper: {
    install: ['zypper --non-interactive install'],
    packages: {
      qemu: { x86_64: 'qemu-x86', aarch64: 'qemu-arm' },
      'qemu-img': 'qemu-tools',
      nft: 'nftables',
      dnsmasq: 'dnsmasq',
      ip: 'iproute2',
      'sftp-server': 'openssh-server',
      chrony: 'chrony',
    },
  },
  pacman: {
    install: ['pacman -S --noconfirm'],
    packages: {
      qemu: { x86_64: 'qemu-base', aarch64: 'qemu-system-aarch64' },
      'qemu-img': 'qemu-img',
      nft: 'nftables',
      dnsmasq: 'dnsmasq',
      ip: 'iproute2',
      'sftp-server': 'openssh',
      chrony: 'chrony',
    },
  },
  apk: {
    install: ['apk add'],
    packages: {
      qemu: { x86_64: 'qemu-system-x86_64', aarch64: 'qemu-system-aarch64' },
      'qemu-img': 'qemu-img',
      nft: 'nftables',
      dnsmasq: 'dnsmasq',
      ip: 'iproute2',
      'sftp-server': 'openssh-sftp-server',
      chrony: 'chrony',
    },
  },
  brew: { install: ['brew install'], packages: { vfkit: 'vfkit', qemu: 'qemu', 'qemu-img': 'qemu' } },
}

/** Programs that install packages, in the order they are looked for. */
export const PACKAGE_MANAGERS = Object.keys(MANAGERS)

/**
 * The one command that installs these parts, for a shell; '' = no manager we know, or it has none of them. `machine` is
 * x86_64 or aarch64. `prefix` stands before each program, as "sudo ".
 */
export function installCommand(manager: string, parts: readonly PackagedPart[], machine: string, prefix = ''): string {
  const known = lookup(MANAGERS, manager)
  if (!known) return ''
  const named = parts.map((part) => known.packages[part] ?? '')
  const names = named.map((name) =>
    typeof name === 'string' ? name : name[machine === 'aarch64' ? 'aarch64' : 'x86_64'],
  )
  const unique = [...new Set(names.filter((name) => name !== ''))]
  if (unique.length === 0) return ''
  return known.install
    .map((command) => `${prefix}${command}`)
    .join(' && ')
    .concat(' ', unique.join(' '))
}
