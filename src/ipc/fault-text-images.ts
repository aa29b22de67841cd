import { host, image, NOTHING, or, type P, t, v, why } from './fault-parts.ts'

/** Words of `image/*`. */
export const IMAGE_TEXT = {
  'image/not-found': (p: P) =>
    t(`There is no image ${or(p['image'], 'of that name')}.`, NOTHING, 'See the names with "eitri image list".'),
  'image/name-taken': (p: P) => t(`An image named ${v(p, 'image')} is already here.`, NOTHING, 'Choose another name.'),
  'image/none-default': (p: P) =>
    t(
      `There is no default image${p['arch'] ? ` for ${v(p, 'arch')}` : ''}.`,
      NOTHING,
      'Build one with "eitri image build-tiny", or name an image.',
    ),
  'image/in-use': (p: P) =>
    t(`${image(p)} is used by ${or(p['vms'], 'VMs of another tenant')}.`, NOTHING, 'Purge those VMs first.'),
  'image/digest-mismatch': (p: P) =>
    t(
      `The bytes of ${image(p)} do not match its SHA-256${p['found'] ? ` (expected ${v(p, 'expected')}, found ${p['found']})` : ''}.`,
      'It was thrown away; no VM saw it.',
      'Check the URL and the digest.',
    ),
  'image/unreachable': (p: P) =>
    t(`${image(p)} could not be fetched${why(p)}.`, 'The VM waits.', or(p['next'], 'It is tried again by itself.')),
  'image/format': (p: P) =>
    t(
      `${image(p)} is not usable${why(p)}.`,
      NOTHING,
      or(p['next'], 'Use a qcow2 or raw disk without a backing file, or a kernel image.'),
    ),
  'image/too-big-for-disk': (p: P) =>
    t(
      `${image(p)} needs ${v(p, 'needed')} of disk; the VM has ${v(p, 'disk')}.`,
      'An image is never shrunk.',
      'Give the VM a larger disk.',
    ),
  'image/push-failed': (p: P) =>
    t(`${image(p)} could not be sent to ${host(p)}${why(p)}.`, 'What arrived is kept.', 'It goes on by itself.'),
  'image/build-impossible': (p: P) =>
    t(
      `${image(p)} cannot be built here${why(p)}.`,
      NOTHING,
      'Mend that, build it on Debian x86_64, or add an image by URL.',
    ),
  'image/build-failed': (p: P) =>
    t(`The image build failed${why(p)}.`, 'Nothing was added.', 'Mend that and build again.'),
  'image/import-impossible': (p: P) =>
    t(
      `${or(p['file'], 'The file')} cannot be imported here${why(p)}.`,
      NOTHING,
      or(p['next'], 'Mend that and try again.'),
    ),
  'image/import-failed': (p: P) =>
    t(
      `${or(p['file'], 'The file')} could not be imported${why(p)}.`,
      'Nothing was added.',
      or(p['next'], 'Use a qcow2 or raw disk that stands alone, or an OVA with one disk.'),
    ),
  'image/not-in-catalogue': (p: P) =>
    t(`The catalogue has no image ${v(p, 'entry')}.`, NOTHING, 'See its images with "eitri image catalogue".'),
  'image/publisher-silent': (p: P) =>
    t(
      `${or(p['url'], 'The publisher')} could not be read${why(p)}.`,
      'Nothing was added.',
      'Try again when this computer reaches it, or add the image by file.',
    ),
  'image/list-unusable': (p: P) =>
    t(
      `What ${or(p['url'], 'the publisher')} answered is not used${why(p)}.`,
      'Nothing was added.',
      'Open the address in a browser to see what stands there; another network may help.',
    ),
  'image/not-as-published': (p: P) =>
    t(
      `The bytes of ${image(p)} do not match the ${or(p['algorithm'], 'digest')} its publisher lists.`,
      'They were thrown away; nothing was added.',
      'Try again: the publisher may have put up a new build meanwhile.',
    ),
  'image/no-room': (p: P) =>
    t(
      `There is no room for ${p['image'] ? v(p, 'image') : 'the image'} where images are kept: ${v(p, 'needed')} are needed and ${v(p, 'free')} are free.`,
      NOTHING,
      'Remove images nobody uses, or make room on that disk.',
    ),
}
