import { type FleetPayload, fleetPayload } from './fleet-payload.ts'
import type { SeedSsh } from './ssh-trust.ts'

const BOUNDARY = 'eitri-seed'

/**
 * The fleet's own settings as MIME: a cloud-config part without list keys, which user-data could replace silently, and
 * a shell part, which it cannot drop. The shell part runs once, in cloud-init's final stage, before user runcmd.
 */
export function vendorData(payload: FleetPayload): string {
  return [
    `Content-Type: multipart/mixed; boundary="${BOUNDARY}"`,
    'MIME-Version: 1.0',
    '',
    part('text/cloud-config', 'eitri-config.yaml', cloudConfig(payload.ssh)),
    part('text/x-shellscript', 'eitri-fleet.sh', fleetPayload(payload)),
    `--${BOUNDARY}--`,
    '',
  ].join('\n')
}

/** cloud-init's own growing is off: the shell part grows the disk, online. */
export function cloudConfig({ hostKey }: SeedSsh): string {
  const lines = ['#cloud-config', 'growpart:', '  mode: "off"', 'resize_rootfs: false']
  if (hostKey)
    lines.push(
      'ssh_deletekeys: true',
      'ssh_keys:',
      '  ed25519_private: |',
      ...indented(hostKey.privateKey),
      '  ed25519_certificate: |',
      ...indented(hostKey.certificate),
    )
  return `${lines.join('\n')}\n`
}

const indented = (text: string): string[] =>
  text
    .trim()
    .split('\n')
    .map((line) => `    ${line}`)

function part(type: string, name: string, body: string): string {
  const base64 = Buffer.from(body, 'utf8').toString('base64')
  return [
    `--${BOUNDARY}`,
    `Content-Type: ${type}; charset="utf-8"`,
    'MIME-Version: 1.0',
    'Content-Transfer-Encoding: base64',
    `Content-Disposition: attachment; filename="${name}"`,
    '',
    ...(base64.match(/.{1,76}/g) ?? []),
    '',
  ].join('\n')
}
