import { CONNECT_TIMEOUT_S } from './arguments.ts'

export interface ConfigTextInput {
  /** The program that asks this process. */
  askProgram: string
  /** The person's own configuration, if there is one, then the system's. */
  includes: string[]
  /** A KnownHostsCommand the person has. Empty = none. */
  knownHostsCommand: string
  /** The host dialled first of those on the way, as typed. Absent = none is. */
  firstHop?: string
  /** Where the person's .ssh is, when that is not where ssh looks. */
  elsewhere?: { knownHosts: string; identityFiles: string[] }
}

/**
 * Pure: the configuration for one dial: what must hold stands before the person's own, and for hosts on the way too, since
 * ssh hands the file on to them.
 */
export function configText(input: ConfigTextInput): string {
  const { askProgram, includes, knownHostsCommand, firstHop, elsewhere } = input
  const theirs = knownHostsCommand === '' ? '' : ` -- ${knownHostsCommand}`
  const lines = [
    ...(firstHop === undefined
      ? []
      : [`Match originalhost ${quoted(firstHop)}`, `ConnectTimeout ${CONNECT_TIMEOUT_S}`]),
    'Match all',
    'IgnoreUnknown GSSAPIKeyExchange',
    // A key exchange without a host key would leave nothing to judge.
    'GSSAPIKeyExchange no',
    'StrictHostKeyChecking yes',
    'VerifyHostKeyDNS no',
    'NoHostAuthenticationForLocalhost no',
    'CheckHostIP no',
    'UpdateHostKeys no',
    `KnownHostsCommand ${quoted(askProgram.replaceAll('%', '%%'))} host-key %I %t %K %H${theirs}`,
    'BatchMode no',
    'LogLevel VERBOSE',
    'ForwardAgent no',
    'ForwardX11 no',
    'ClearAllForwardings yes',
    'ExitOnForwardFailure no',
    'PermitLocalCommand no',
    'RemoteCommand none',
    'RequestTTY no',
    'Tunnel no',
    'StdinNull no',
    'ForkAfterAuthentication no',
    'StreamLocalBindMask 0177',
    ...includes.map((file) => `Include ${quoted(file)}`),
    ...(elsewhere
      ? [
          'Match all',
          `UserKnownHostsFile ${quoted(elsewhere.knownHosts)}`,
          ...elsewhere.identityFiles.map((file) => `IdentityFile ${quoted(file)}`),
        ]
      : []),
  ]
  return `${lines.join('\n')}\n`
}

/** A word of ssh_config; line breaks and quotes cannot stand in one. */
const quoted = (text: string): string => `"${text.replace(/["\n\r]/g, '')}"`
