import { Fault } from '../../ipc/faults.ts'
import { type SeedSsh, vendorData } from './vendor-data.ts'

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
}

/** The files of a NoCloud seed. Raises `input/invalid` (permanent) for a key that is not one line. */
export function seedDocuments(input: SeedInput): Record<string, Uint8Array> {
  for (const line of [...input.authorizedKeys, ...input.ssh.userCas, input.ssh.hostKey?.certificate.trim() ?? 'none'])
    if (!/^[^\0-\x1f\x7f]+$/.test(line) || line === 'EITRI_EOF')
      throw new Fault('input/invalid', 'permanent', { field: 'ssh key', problem: 'it is not one line of text' })
  const utf8 = (text: string) => new TextEncoder().encode(text)
  return {
    'meta-data': utf8(metaData(input)),
    'network-config': utf8(networkConfig(input)),
    'user-data': input.userData,
    'vendor-data': utf8(vendorData(input.ssh)),
  }
}

/** The instance id is the VM id: cloud-init runs once per VM, however often it boots. */
export function metaData({ vmId, hostname, authorizedKeys }: SeedInput): string {
  const keys = authorizedKeys.map((key) => `  - ${JSON.stringify(key)}`)
  return [
    `instance-id: ${vmId}`,
    `local-hostname: ${hostname}`,
    ...(keys.length > 0 ? ['public-keys:', ...keys] : []),
    '',
  ].join('\n')
}

/** Version 2; NICs are matched by MAC, so that their order in the guest does not matter. */
export function networkConfig({ mac, networkMac }: SeedInput): string {
  return ['version: 2', 'ethernets:', ...nic('nic0', mac), ...(networkMac ? nic('nic1', networkMac) : []), ''].join(
    '\n',
  )
}

const nic = (name: string, mac: string): string[] => [
  `  ${name}:`,
  '    match:',
  `      macaddress: "${mac}"`,
  `    set-name: ${name}`,
  '    dhcp4: true',
  // By DUID, some DHCP servers name no MAC in their leases.
  '    dhcp-identifier: mac',
]
