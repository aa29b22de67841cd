import { NOTHING, or, type P, t, v } from './fault-parts.ts'

/** Words of `cloud-init/*`. */
export const CLOUD_INIT_TEXT = {
  'cloud-init/invalid': (p: P) =>
    p['file']
      ? t(
          `${p['file']} has ${p['errors'] === '1' ? 'an error' : `${or(p['errors'], 'some')} errors`} that cloud-init would stumble over, the first in line ${v(p, 'line')}.`,
          NOTHING,
          or(p['fix'], 'Correct it and try again.'),
        )
      : t(
          `The user-data is not valid in line ${v(p, 'line')}: ${or(p['problem'], 'cloud-init would pass over it')}.`,
          NOTHING,
          or(p['fix'], 'Correct it and try again.'),
        ),
}
