import { NOTHING, or, type P, t } from './fault-parts.ts'

/** Words of `tenant/*`. */
export const TENANT_TEXT = {
  'tenant/not-found': (p: P) =>
    t(`There is no tenant ${or(p['tenant'], 'of that name')}.`, NOTHING, 'See the names with "eitri tenant list".'),
}
