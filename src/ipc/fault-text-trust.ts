import { NOTHING, or, type P, t, v, why } from './fault-parts.ts'

const ca = (p: P) => or(p['ca'], 'The CA')

/** Words of `ca/*` and `certificate/*`. */
export const TRUST_TEXT = {
  'ca/none': (p: P) =>
    p['vm']
      ? t(
          `${v(p, 'vm')} trusts no CA that is in use.`,
          'Nobody gets into it by certificate.',
          'Use "eitri console", or replace the VM.',
        )
      : t(
          `There is no ${or(p['kind'], 'user')} CA${p['tenant'] ? ` in tenant ${v(p, 'tenant')}` : ''} to trust.`,
          NOTHING,
          `Make one with "eitri ca create NAME --kind ${or(p['kind'], 'user')}".`,
        ),
  'ca/not-found': (p: P) =>
    t(`There is no CA ${or(p['ca'], 'of that name')}.`, NOTHING, 'See the names with "eitri ca list".'),
  'ca/ambiguous': (p: P) =>
    t(`Both a host CA and a user CA are named ${v(p, 'ca')}.`, NOTHING, `Name it by its fingerprint: ${v(p, 'cas')}.`),
  'ca/name-taken': (p: P) =>
    t(`A ${or(p['kind'], 'user')} CA named ${v(p, 'ca')} is already here.`, NOTHING, 'Choose another name.'),
  'ca/key-taken': (p: P) =>
    t(
      p['ca'] ? `This key is the ${or(p['kind'], 'user')} CA ${v(p, 'ca')} already.` : 'This key is a CA already.',
      NOTHING,
      'One key is one CA: use that one, or make another key.',
    ),
  'ca/held-elsewhere': (p: P) =>
    t(
      `The private key of ${ca(p)} is kept elsewhere.`,
      'Nothing is signed with it here.',
      'Import its private key, or use another CA.',
    ),
  'ca/key-unusable': (p: P) =>
    t(
      `The private key of ${ca(p)} cannot be used${why(p)}.`,
      'Nothing is signed with it; what was signed stays good.',
      or(p['next'], 'See "eitri ca list".'),
    ),
  'ca/key-removed': (p: P) =>
    t(
      `The private key of ${ca(p)} was removed when it was retired.`,
      NOTHING,
      'Import its private key again, or use another CA.',
    ),
  'ca/needed': (p: P) =>
    t(
      `${v(p, 'vms')} ${or(p['count'], '1') === '1' ? 'trusts' : 'trust'} no CA in use but ${ca(p)}: without it nobody gets in by certificate.`,
      NOTHING,
      'Replace those VMs first, or retire it with --force.',
    ),
  'ca/too-many': (p: P) =>
    t(`There are ${or(p['max'], 'many')} ${or(p['kind'], 'user')} CAs in use already.`, NOTHING, 'Retire one first.'),
  'certificate/none': (p: P) =>
    t(`That is not a certificate${why(p)}.`, NOTHING, 'Give the one line of a file whose name ends in -cert.pub.'),
  'certificate/not-found': (p: P) =>
    t(
      `There is no certificate ${or(p['serial'], 'like that')} of this tenant.`,
      NOTHING,
      'See the serials with "eitri cert list".',
    ),
  'certificate/of-host': (p: P) =>
    t(
      `${p['serial'] ? `Certificate ${v(p, 'serial')}` : 'This certificate'} is of a host key; only certificates of people are revoked.`,
      NOTHING,
      'Delete the VM whose key is lost, and make a new one.',
    ),
  'certificate/too-many-revoked': (p: P) =>
    t(
      `${or(p['max'], 'As many certificates as can be')} are revoked already.`,
      'This one is not revoked.',
      'They are dropped as their time ends; or retire the CA that signed it.',
    ),
}
