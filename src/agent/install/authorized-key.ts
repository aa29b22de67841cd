import { join } from 'node:path'
import { ensureDir, readIfPresent, removeTree, setOwner, writeDurable } from '../os/files.ts'
import { shellWord } from './supervisor.ts'

/** Longest a key is good for without a control plane that renews it. */
export const KEY_AGE_MS = 30 * 24 * 3600_000

export interface AuthorizedKey {
  /** Of the login; everything below it is root's. */
  home: string
  /** `ssh-ed25519 …`, without a comment. */
  publicKey: string
  fleetId: string
  /** Absolute. */
  executable: string
  socket: string
  expiresAt: Date
}

/** The one line of the file: this key may do one thing, until its date. Pure. */
export function keyLine({ publicKey, fleetId, executable, socket, expiresAt }: AuthorizedKey): string {
  const command = [executable, 'rpc', '--stdio', '--socket', socket].map(shellWord).join(' ')
  const options = `restrict,expiry-time="${sshTime(expiresAt)}",command="${command.replace(/["\\]/g, '\\$&')}"`
  return `${options} ${publicKey} eitri-fleet-${fleetId}\n`
}

/** Where sshd reads it. */
export const keyFile = (home: string): string => join(home, '.ssh', 'authorized_keys')

/** Replaces the file; root's, and readable for the login's group alone, so that who signs in cannot change it. */
export const writeKey = (key: AuthorizedKey, gid: number): Promise<void> => writeKeyFile(key.home, keyLine(key), gid)

/** As `writeKey`, with what the file held once. */
export async function writeKeyFile(home: string, content: string | Uint8Array, gid: number): Promise<void> {
  const dir = join(home, '.ssh')
  if (await ensureDir('join.dir', dir, 0o750)) await setOwner('join.owner-dir', dir, 0, gid)
  const file = keyFile(home)
  await writeDurable('join.key', file, content, 0o640)
  await setOwner('join.owner', file, 0, gid)
}

/** False = there was none. */
export async function removeKey(home: string): Promise<boolean> {
  const there = (await readIfPresent(keyFile(home)).catch(() => undefined)) !== undefined
  await removeTree('join.key-remove', keyFile(home))
  return there
}

/** In the host's own time zone: sshd of before 9.1 knows no other. */
function sshTime(date: Date): string {
  const two = (n: number) => String(n).padStart(2, '0')
  const day = `${date.getFullYear()}${two(date.getMonth() + 1)}${two(date.getDate())}`
  return `${day}${two(date.getHours())}${two(date.getMinutes())}${two(date.getSeconds())}`
}
