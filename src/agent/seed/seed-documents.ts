import type { ClockPolicy } from '../../ipc/clock-policy.ts'
import { Fault } from '../../ipc/faults.ts'
import { isId, isName } from '../../ipc/names.ts'
import { endsPayloadFile } from './fleet-payload.ts'
import type { SeedSsh } from './ssh-trust.ts'
import { vendorData } from './vendor-data.ts'

export interface SeedInput {
  vmId: string
  hostname: string
  /** Public key lines for the guest's first login. */
  authorizedKeys: readonly string[]
  /** The person's user-data, passed on byte for byte. */
  userData: Uint8Array
  mac: string
  /** Of the NIC on the operator network; undefined = there is none, and no second stanza. */
  networkMac?: string
  ssh: SeedSsh
  clock: ClockPolicy
}

/** One line as YAML 1.1 and a shell both read it: no breaks of Unicode's, nothing a YAML reader refuses. */
const ONE_LINE = /^[\x20-\x7e\u00a0-\u2027\u202a-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]+$/u
const MAC = /^([0-9a-f]{2}:){5}[0-9a-f]{2}$/

/** The files of a NoCloud seed. Raises `input/invalid` (permanent) for what could change the shape of a document. */
export function seedDocuments(input: SeedInput): Record<string, Uint8Array> {
  const { vmId, hostname, mac, networkMac = mac, ssh } = input
  for (const line of [...input.authorizedKeys, ...ssh.userCas, ssh.hostKey?.certificate.trim() ?? 'none'])
    if (!ONE_LINE.test(line) || endsPayloadFile(line)) throw refused('ssh key', 'it is not one line of text')
  if (!isId(vmId)) throw refused('vm_id', 'it is not 32 hex characters')
  if (!isName(hostname)) throw refused('name', 'it is not a host name')
  if (!MAC.test(mac) || !MAC.test(networkMac)) throw refused('mac', 'it is not a MAC address')
  const utf8 = (text: string) => new TextEncoder().encode(text)
  return {
    'meta-data': utf8(metaData(input)),
    'network-config': utf8(networkConfig(input)),
    'user-data': input.userData,
    'vendor-data': utf8(vendorData(input)),
  }
}

const refused = (field: string, problem: string) => new Fault('input/invalid', 'permanent', { field, problem })

/**
 * The instance id is the VM id: cloud-init runs once per VM, however often it boots. Quoted, since "on", "1e3" and ids of
 * digits alone are names too.
 */
export function metaData({ vmId, hostname, authorizedKeys }: SeedInput): string {
  const keys = authorizedKeys.map((key) => `  - ${JSON.stringify(key)}`)
  return [
    `instance-id: ${JSON.stringify(vmId)}`,
    `local-hostname: ${JSON.stringify(hostname)}`,
    ...(keys.length > 0 ? ['public-keys:', ...keys] : []),
    '',
  ].join('\n')
}

/** Version 2; NICs are matched by MAC, so that their order in the guest does not matter. */
export function networkConfig({ mac, networkMac }: SeedInput): string {
  return [
    'version: 2',
    'ethernets:',
    ...nic('nic0', mac),
    ...(networkMac ? [...nic('nic1', networkMac), ...SECOND] : []),
    '',
  ].join('\n')
}

/** The way out stays the first NIC's, whose answers come back by it. */
const SECOND = ['    dhcp4-overrides:', '      route-metric: 2048']

const nic = (name: string, mac: string): string[] => [
  `  ${name}:`,
  '    match:',
  `      macaddress: "${mac}"`,
  `    set-name: ${name}`,
  '    dhcp4: true',
  // By DUID, some DHCP servers name no MAC in their leases.
  '    dhcp-identifier: mac',
]
