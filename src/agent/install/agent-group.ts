import { anySucceeds, type HostAccess, readEtc } from './host-access.ts'
import { AGENT_GROUP, groupId, groupMembers } from './places.ts'

/** What was changed about the group, so that uninstall can undo exactly that. */
export interface GroupChange {
  made: boolean
  /** Logins that were put into it. */
  members: string[]
}

export interface GroupSteps {
  add(did: string, undo: () => Promise<unknown>): void
}

/**
 * The group with these logins in it; undefined when this host lets us make none. `intend` hears what will be changed
 * before it is. Raises Error for a login it does not take.
 */
export async function ensureAgentGroup(
  host: HostAccess,
  logins: readonly string[],
  steps: GroupSteps,
  intend: (change: GroupChange) => Promise<void>,
): Promise<GroupChange | undefined> {
  const before = await readGroups(host)
  const made = groupId(AGENT_GROUP, before) === undefined
  const missing = logins.filter((login) => login !== 'root' && !groupMembers(AGENT_GROUP, before).includes(login))
  if (made || missing.length > 0) await intend({ made, members: missing })
  if (made) {
    if (
      !(await anySucceeds('group.make', host, ['groupadd', '--system', AGENT_GROUP], ['addgroup', '-S', AGENT_GROUP]))
    )
      return undefined
    steps.add(`made the group ${AGENT_GROUP}`, () => removeGroup(host))
  }
  const there = groupMembers(AGENT_GROUP, await readGroups(host))
  const members: string[] = []
  for (const login of logins) {
    if (!/^[a-z_][\w.-]{0,31}\$?$/i.test(login)) throw new Error(`"${login}" is not a login name`)
    if (login === 'root' || there.includes(login)) continue
    if (
      !(await anySucceeds(
        'group.add-member',
        host,
        ['usermod', '-aG', AGENT_GROUP, login],
        ['addgroup', login, AGENT_GROUP],
      ))
    )
      throw new Error(`${login} could not be added to the group ${AGENT_GROUP}`)
    members.push(login)
    steps.add(`added ${login} to the group ${AGENT_GROUP}; it counts from the next sign-in`, () =>
      removeMember(host, login),
    )
  }
  return { made, members }
}

/** Takes back what install changed; what somebody else made stays. Idempotent; answers what is gone. */
export async function undoAgentGroup(host: HostAccess, { made, members }: GroupChange): Promise<string[]> {
  const text = await readGroups(host)
  if (groupId(AGENT_GROUP, text) === undefined) return []
  if (made && (await removeGroup(host))) return [`the group ${AGENT_GROUP}`]
  const removed: string[] = []
  for (const login of members.filter((member) => groupMembers(AGENT_GROUP, text).includes(member)))
    if (await removeMember(host, login)) removed.push(`${login} from the group ${AGENT_GROUP}`)
  return removed
}

const removeGroup = (host: HostAccess) =>
  anySucceeds('group.remove', host, ['groupdel', AGENT_GROUP], ['delgroup', AGENT_GROUP])
const removeMember = (host: HostAccess, login: string) =>
  anySucceeds('group.remove-member', host, ['gpasswd', '-d', login, AGENT_GROUP], ['delgroup', login, AGENT_GROUP])

const readGroups = (host: HostAccess): Promise<string> => readEtc(host, 'group')
