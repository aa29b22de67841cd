/** SSH material of one guest; absent parts leave no trace in the seed. */
export interface SeedSsh {
  /** Authorized-key lines of the user CAs. */
  userCas: readonly string[]
  /** OpenSSH private key (PEM) and its certificate line. */
  hostKey?: { privateKey: string; certificate: string }
}

const BOUNDARY = 'eitri-seed'
const USER_CA_FILE = '/etc/ssh/eitri_user_ca.pub'
const SSHD_DROP_IN = '/etc/ssh/sshd_config.d/10-eitri.conf'
const HOST_CERTIFICATE = '/etc/ssh/ssh_host_ed25519_key-cert.pub'
const CHRONY_DROP_IN = '/etc/chrony/conf.d/eitri-clock.conf'

/**
 * The fleet's own settings as MIME: a cloud-config part without list keys, which user-data could replace silently, and
 * a shell part, which it cannot drop. The shell part runs once, in cloud-init's final stage, before user runcmd.
 */
export function vendorData(ssh: SeedSsh): string {
  return [
    `Content-Type: multipart/mixed; boundary="${BOUNDARY}"`,
    'MIME-Version: 1.0',
    '',
    part('text/cloud-config', 'eitri-config.yaml', cloudConfig(ssh)),
    part('text/x-shellscript', 'eitri-fleet.sh', fleetScript(ssh)),
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

/** Files first, then what makes them count; it always ends well, so that no image is reported degraded for lack of a part. */
export function fleetScript(ssh: SeedSsh): string {
  const dropIn = [
    ...(ssh.userCas.length > 0 ? [`TrustedUserCAKeys ${USER_CA_FILE}`] : []),
    ...(ssh.hostKey ? [`HostCertificate ${HOST_CERTIFICATE}`] : []),
  ]
  return [
    '#!/bin/sh',
    '# Settings every VM of the fleet has, whatever its user-data says.',
    'put() { mkdir -p "$(dirname "$1")" && cat > "$1.new" && chmod 0644 "$1.new" && mv "$1.new" "$1"; }',
    ...(ssh.userCas.length > 0 ? put(USER_CA_FILE, ssh.userCas) : []),
    ...(dropIn.length > 0 ? put(SSHD_DROP_IN, dropIn) : []),
    '# After a host suspend the clock is off by hours: step it whenever it is, not only at boot.',
    ...put(CHRONY_DROP_IN, ['makestep 1 -1']),
    'if [ -b /dev/vda1 ]; then',
    "  printf ',+\\n' | sfdisk --no-reread --no-tell-kernel -N 1 /dev/vda && partx -u /dev/vda && resize2fs /dev/vda1",
    'fi',
    ...(dropIn.length > 0
      ? ['sshd -t && { systemctl reload sshd 2>/dev/null || systemctl reload ssh 2>/dev/null; }']
      : []),
    'systemctl try-restart chrony.service 2>/dev/null || true',
    'exit 0',
    '',
  ].join('\n')
}

const put = (path: string, lines: readonly string[]): string[] => [`put ${path} <<'EITRI_EOF'`, ...lines, 'EITRI_EOF']

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
