import { DEFAULT_TENANT } from './request-headers.ts'

const LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/

/** RFC 1123 label, lower case, 1 to 63 characters: names of hosts, VMs and images. */
export const isName = (text: string): boolean => LABEL.test(text)
/** That in words for people. */
export const NAME_RULE = 'use 1 to 63 lower-case letters, digits and hyphens; start and end with a letter or digit'

/** 32 lowercase hex characters: ids of everything. */
export const isId = (text: string): boolean => /^[0-9a-f]{32}$/.test(text)

/** SHA-256 in lowercase hex. */
export const isSha256 = (text: string): boolean => /^[0-9a-f]{64}$/.test(text)

/** An SSH fingerprint as OpenSSH prints it: `SHA256:` and 43 base64 characters. */
export const isFingerprint = (text: string): boolean => /^SHA256:[A-Za-z0-9+/]{43}$/.test(text)

/** The name a guest is reached and certified by: `<tenant>.<name>`. */
export const connectName = (tenant: string, name: string): string => `${tenant}.${name}`

const SSH_SUFFIX = '.eitri'

/** What people type after `ssh`: `web.eitri` for a VM of the default tenant, else `web.lab.eitri`. */
export const sshHostName = (tenant: string, name: string): string =>
  tenant === DEFAULT_TENANT ? `${name}${SSH_SUFFIX}` : `${name}.${tenant}${SSH_SUFFIX}`

/** The VM and tenant that sshHostName made a name of; undefined = it is no such name. */
export function vmOfSshHost(host: string): { tenant: string; vm: string } | undefined {
  if (!host.endsWith(SSH_SUFFIX)) return undefined
  const [vm = '', tenant = DEFAULT_TENANT, ...more] = host.slice(0, -SSH_SUFFIX.length).split('.')
  return isName(vm) && isName(tenant) && more.length === 0 ? { tenant, vm } : undefined
}

/** Whom certificates and shells are for where nobody says: images differ in their own users, and all have this one. */
export const DEFAULT_LOGIN = 'root'

/** A login name, or one that systems join to a domain with @ or a backslash. */
export const isLogin = (text: string): boolean => /^[A-Za-z0-9_][A-Za-z0-9_.@\\-]{0,63}$/.test(text)
