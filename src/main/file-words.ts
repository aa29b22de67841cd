import { dirname } from 'node:path'

const READ: Record<string, string> = {
  ENOENT: 'there is no such file',
  ENOTDIR: 'there is no such file',
  EISDIR: 'it is a directory',
  EACCES: 'this user may not read it',
}

/** Why a file a person named cannot be read. */
export function readTrouble(error: unknown): string {
  const { code, message = String(error) } = error as NodeJS.ErrnoException
  return code === undefined ? message : (READ[code] ?? `it cannot be read (${code})`)
}

const WRITE: Record<string, string> = {
  EEXIST: 'there is a file of that name',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the quota of the disk is used up',
  EROFS: 'the disk is read-only',
  EACCES: 'this user may not write there',
  EPERM: 'this user may not write there',
  EISDIR: 'there is a directory of that name',
  ENAMETOOLONG: 'its name is too long',
}

/** Why a new file cannot be made under that name. */
export function writeTrouble(error: unknown, path: string): string {
  const { code, message = String(error) } = error as NodeJS.ErrnoException
  if (code === 'ENOENT' || code === 'ENOTDIR') return `there is no directory ${dirname(path)}`
  return (code === undefined ? undefined : WRITE[code]) ?? `it cannot be written (${code ?? message})`
}
