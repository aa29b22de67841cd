import { basename } from 'node:path'
import type { ConfigSays } from './ssh/config.ts'

/** What decides who can sign in to one host, gathered beforehand. */
export interface ClientFacts {
  says: ConfigSays
  /** Identity files that exist, and the type of the key in each. Empty type = it cannot be told. */
  keys: readonly { file: string; type: string }[]
  /** Certificate files that exist, named or lying beside a key. */
  certificates: readonly string[]
  /** Types of the SSH agent's keys that may be offered. */
  agentTypes: readonly string[]
  /** There is a Kerberos ticket. */
  ticket: boolean
  /** A known_hosts file trusts this host by a certificate authority. */
  hostAuthority: boolean
}

/** Who carries a host, and why not ssh2; one sentence. */
export type ClientChoice = { client: 'ssh2' } | { client: 'openssh'; detail: string }

const IS_CERTIFICATE = /-cert-v\d\d@openssh\.com$/
const IS_HARDWARE = /^(webauthn-)?sk-/
/** In the list OpenSSH tries by itself. */
const HARDWARE_NAMES = new Set(['id_ed25519_sk', 'id_ecdsa_sk'])

/** Pure: ssh2 where it can do what the person's setup asks for, else the system's own ssh. `hop` = a host on the way. */
export function chooseClient(facts: ClientFacts, hop = ''): ClientChoice {
  const need = needOf(facts)
  if (need === undefined) return { client: 'ssh2' }
  const via = hop === '' ? '' : ` for ${hop} on the way`
  return { client: 'openssh', detail: `Your setup${via} uses ${need}, so the system's own ssh carries it.` }
}

/** For a server that ssh2 agrees on no algorithm with; `detail` = on which, as ssh2 says it. */
export const noCommonAlgorithm = (detail: string): string =>
  `Its server takes none of what ssh2 has: ${detail}. The system's own ssh carries it.`

function needOf({ says, keys, certificates, agentTypes, ticket, hostAuthority }: ClientFacts): string | undefined {
  if (says.proxyCommand !== '') return 'a ProxyCommand'
  if (says.pkcs11Provider !== '') return 'a PKCS#11 token (PKCS11Provider)'
  if (says.securityKeyProvider !== '') return 'a SecurityKeyProvider'
  const [certificate] = certificates
  if (certificate !== undefined) return `a certificate (${basename(certificate)})`
  const hardware = keys.find(({ file, type }) => IS_HARDWARE.test(type) || HARDWARE_NAMES.has(basename(file)))
  if (hardware) return `a hardware key (${basename(hardware.file)})`
  if (agentTypes.some((type) => IS_CERTIFICATE.test(type))) return 'a certificate in the SSH agent'
  if (agentTypes.some((type) => IS_HARDWARE.test(type))) return 'a hardware key in the SSH agent'
  if (says.gssapi && ticket) return 'Kerberos (GSSAPIAuthentication)'
  if (hostAuthority) return 'a certificate authority for host keys (@cert-authority)'
  if (says.knownHostsCommand !== '') return 'a KnownHostsCommand'
  if (says.hostbased) return 'host-based sign-in (HostbasedAuthentication)'
  if (says.bind !== '') return `an address of its own to dial from (${says.bind})`
  return undefined
}
