import { join } from 'node:path'
import { ensureDir, removeTree } from '../os/files.ts'
import { anySucceeds, type HostAccess, readEtc, succeeds } from './host-access.ts'
import { AGENT_GROUP, groupId } from './places.ts'

/** The login control planes come in by. */
export const LOGIN_USER = 'eitri'
const HOME = '/var/lib/eitri-login'
/** What sshd starts a fixed command with; nothing of ours runs it. */
const LOGIN_SHELL = '/bin/sh'

export interface LoginUser {
  user: string
  home: string
  gid: number
  /** False = it was there. */
  made: boolean
}

interface PasswdEntry {
  gid: number
  home: string
}

/**
 * A system user in the group that may steer the agent, without a password and yet not locked, for sshd refuses a locked
 * one. Raises Error with words where this host lets us make none, or somebody else's is in the way.
 */
export async function ensureLoginUser(host: HostAccess): Promise<LoginUser> {
  const home = join(host.prefix, HOME)
  const gid = groupId(AGENT_GROUP, await readEtc(host, 'group'))
  if (gid === undefined) throw new Error(`there is no group ${AGENT_GROUP}`)
  const before = entryOf(await readEtc(host, 'passwd'))
  if (before && before.home !== home)
    throw new Error(`there is a user ${LOGIN_USER} already, with its home in ${before.home}`)
  await ensureDir('join.home', home, 0o755)
  if (!before) await makeUser(host, home)
  await succeeds('join.restore-labels', host, 'restorecon', ['-R', home])
  return { user: LOGIN_USER, home, gid, made: !before }
}

async function makeUser(host: HostAccess, home: string): Promise<void> {
  const shadow = ['--system', '--gid', AGENT_GROUP, '--home-dir', home, '--no-create-home', '--shell', LOGIN_SHELL]
  const busybox = ['-S', '-D', '-H', '-h', home, '-s', LOGIN_SHELL, '-G', AGENT_GROUP, LOGIN_USER]
  const useradd = [...shadow, '--password', '*', LOGIN_USER]
  if (!(await anySucceeds('join.user', host, ['useradd', ...useradd], ['adduser', ...busybox])))
    throw new Error(`the user ${LOGIN_USER} could not be made`)
  await succeeds('join.password', host, 'usermod', ['--password', '*', LOGIN_USER])
}

/** Takes away what a join made. Idempotent; what is gone, for people. */
export async function removeLoginUser(
  host: HostAccess,
  { home, made }: Pick<LoginUser, 'home' | 'made'>,
): Promise<string[]> {
  const removed: string[] = []
  const gone = made && (await succeeds('join.user-remove', host, 'userdel', [LOGIN_USER]))
  if (gone) removed.push(`the user ${LOGIN_USER}`)
  await removeTree('join.home-remove', home)
  return [...removed, home]
}

function entryOf(passwd: string): PasswdEntry | undefined {
  const fields = passwd.split('\n').map((line) => line.split(':'))
  const found = fields.find(([name]) => name === LOGIN_USER)
  return found && { gid: Number(found[3]), home: found[5] ?? '' }
}
