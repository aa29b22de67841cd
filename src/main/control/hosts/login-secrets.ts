import type { HostSecrets } from './secrets.ts'
import type { SshTarget } from './ssh/config.ts'
import type { Secrets } from './ssh/credentials.ts'

/** A login as OpenSSH writes it in its prompts. */
export const promptLogin = ({ user, hostKeyName }: Pick<SshTarget, 'user' | 'hostKeyName'>): string =>
  `${user}@${hostKeyName.toLowerCase()}`

/** Secrets of a login on the way to hosts of one tenant are no host's own. */
const keyOf = (tenant: string, login: string): string => `${tenant}/login:${login}`

/** What is known for a login on the way; in memory only. */
export const secretsOnTheWay = (secrets: HostSecrets, tenant: string, login: string): Secrets =>
  secrets.of(keyOf(tenant, login))

/** Adds to what is known for a login on the way; in memory only. */
export const giveOnTheWay = (secrets: HostSecrets, tenant: string, login: string, given: Secrets): void =>
  secrets.give(keyOf(tenant, login), given)
