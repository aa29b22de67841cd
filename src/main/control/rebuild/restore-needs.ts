import type { ControlPaths } from '../ports.ts'
import type { Stores } from '../store/stores.ts'

const MAX_NAMES = 10

/** What a restore on another computer needs beside a copy of the database, one sentence each: private keys are never in it. */
export function needsOf({ db, tenants, cas, hosts }: Stores, paths: Pick<ControlPaths, 'caKeys'>): string[] {
  const kept = tenants.list().flatMap(({ name }) => cas.list(name).filter(({ state }) => state !== 'retired'))
  const of = (held: string) =>
    named(kept.filter((ca) => ca.held === held).map(({ tenant, name }) => `${tenant}/${name}`))
  const joined = named(
    db.list<{ name: string }>("SELECT name FROM hosts WHERE credential = 'key'").map(({ name }) => name),
  )
  const [files, keychain, elsewhere] = [of('file'), of('keychain'), of('elsewhere')]
  return [
    ...(files ? [`The private keys of the SSH authorities ${files}: copy the folder ${paths.caKeys}.`] : []),
    ...(keychain
      ? [
          `The private keys of the SSH authorities ${keychain}: only the keychain of this computer opens them; elsewhere make new ones, or import theirs.`,
        ]
      : []),
    ...(elsewhere ? [`The private keys of the SSH authorities ${elsewhere}, wherever they are.`] : []),
    ...(joined
      ? [`This app's own SSH key, by which it signs in to ${joined}; without it those hosts join again.`]
      : []),
    ...(hosts.listAll().some(({ kind }) => kind === 'ssh')
      ? ['The SSH keys and settings of the person who signs in to hosts: they stay in ~/.ssh.']
      : []),
    ...(hosts.listAll().some(({ kind }) => kind === 'local')
      ? ['VMs of "this computer" stay on this computer: elsewhere that host does not answer.']
      : []),
  ]
}

const named = (names: readonly string[]): string =>
  names.length > MAX_NAMES
    ? `${names.slice(0, MAX_NAMES).join(', ')} and ${names.length - MAX_NAMES} more`
    : names.join(', ')
