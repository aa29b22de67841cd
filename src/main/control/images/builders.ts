import { NO_ORIGIN } from '../store/images-store.ts'
import type { ImageBuilder } from './built-image.ts'
import { buildDebian, DEBIAN_STEPS } from './debian/build-debian.ts'
import { debianPossible, thisDebianHost } from './debian/debian-possible.ts'
import { buildTiny, TINY_STEPS, tinyPossible } from './tiny/build-tiny.ts'

type Here = { platform: NodeJS.Platform; arch: NodeJS.Architecture }

const tinyBuilder = (here: Here): ImageBuilder => ({
  image: {
    name: 'tiny',
    kind: 'kernel',
    format: '',
    arch: 'x86_64',
    origin: { ...NO_ORIGIN, os: 'Tiny Linux' },
    defaultVcpus: 1,
    defaultMemMb: 96,
    defaultDiskGb: 1,
    description:
      'Linux kernel and a small userland built on this computer from Debian packages. ' +
      'Its serial console gives a root shell without a password.',
  },
  steps: TINY_STEPS,
  possible: () => tinyPossible(here),
  build: buildTiny,
})

const debianBuilder = (here: Here): ImageBuilder => ({
  image: {
    name: 'debian-12',
    kind: 'disk',
    format: 'qcow2',
    arch: 'x86_64',
    origin: { ...NO_ORIGIN, os: 'Debian 12 (bookworm)' },
    defaultVcpus: 1,
    defaultMemMb: 512,
    defaultDiskGb: 4,
    description:
      'Debian 12 built on this computer from its packages: systemd, cloud-init, SSH, chrony and the guest agent. ' +
      'Log in as debian with your key; nobody has a password. Boots by BIOS.',
  },
  steps: DEBIAN_STEPS,
  possible: () => debianPossible(thisDebianHost(here)),
  build: buildDebian,
})

/** What can be built here, each saying whether it really can. */
export const imageBuilders = (here: Here) => ({ tiny: tinyBuilder(here), debian: debianBuilder(here) })
