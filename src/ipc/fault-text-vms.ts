import { host, NOTHING, or, type P, t, v, vm, why } from './fault-parts.ts'

/** Words of edits, clones and templates of VMs. */
export const VM_EDIT_TEXT = {
  'vm/protected': (p: P) =>
    t(
      `${vm(p)} is protected from deletion.`,
      NOTHING,
      `Take that away first: "eitri vm set ${v(p, 'vm')} --unprotect".`,
    ),
  'vm/not-stopped': (p: P) =>
    t(
      `${vm(p)} is not stopped${why(p)}.`,
      'A disk is copied only while nothing writes to it; nothing was changed.',
      `Stop it first: "eitri vm stop ${v(p, 'vm')} --wait".`,
    ),
  'vm/clone-source-gone': (p: P) =>
    t(
      `${or(p['source'], 'The VM it is a copy of')} is deleted on this host, or was never there.`,
      `${vm(p)} has no disk to be made from.`,
      'Bring that VM back, then start this one; or delete this one.',
    ),
  'agent/cannot': (p: P) =>
    t(
      `The agent of ${host(p)}${p['version'] ? ` (${p['version']})` : ''} is too old to ${or(p['what'], 'do that')}.`,
      NOTHING,
      `Upgrade it first: "eitri host upgrade ${v(p, 'host')}".`,
    ),
  'template/not-found': (p: P) =>
    t(`There is no template ${or(p['template'], 'of that name')}.`, NOTHING, 'See "eitri template list".'),
  'template/name-taken': (p: P) =>
    t(`A template named ${v(p, 'template')} is already here.`, NOTHING, 'Choose another name, or remove that one.'),
  'template/no-image': (p: P) =>
    t(
      `The image ${vm(p)} was made from is in the catalogue no more, and no host fetches it by URL.`,
      'A template of it could make no VM; nothing was kept.',
      'Add the image again first.',
    ),
}
