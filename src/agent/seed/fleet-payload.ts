import type { ClockPolicy } from '../../ipc/clock-policy.ts'
import { base64Lines, REVOKED_KEYS, type SeedSsh, SSHD_DROP_IN, sshdLines, USER_CA_FILE } from './ssh-trust.ts'

/** What the fleet owes one guest. */
export interface FleetPayload {
  vmId: string
  ssh: SeedSsh
  clock: ClockPolicy
}

/** In the guest: the VM's id, a line per step (`trust|disk|clock ok|skipped|failed why`), and `end`. */
export const PAYLOAD_REPORT = '/var/lib/eitri/fleet-payload'
/** On its console, invisible on a terminal: how it went, and whose it was. */
export const payloadMark = (outcome: 'applied' | 'incomplete', vmId: string): string =>
  `\x1b]7791;eitri-payload;${outcome};${vmId.slice(0, 12)}\x07`

const CHRONY_DROP_IN = '/etc/chrony/conf.d/eitri-clock.conf'
const CHRONY_UNITS = ['/etc/systemd/system/chrony.service', '/etc/systemd/system/chronyd.service']
const STEP_ALWAYS = 'ExecStartPost=-/usr/bin/chronyc -n makestep 1 -1'
const UDEV_RULE = '/etc/udev/rules.d/90-eitri-ptp-kvm.rules'
const PTP_SCRIPT = '/usr/local/lib/eitri/ptp-kvm.sh'
const PTP_CONFIG = '/etc/chrony/conf.d/eitri-ptp-kvm.conf'
const HOST_ONLY_CONFIG = '/etc/chrony/eitri-host-only.conf'
const HOST_ONLY_OPTIONS = '/run/eitri/chrony.env'
/** Ends a file of a script. */
export const END = 'EITRI_EOF'

/** Text that would end a file of the script early. */
export const endsPayloadFile = (line: string): boolean => line === END

/**
 * A shell script that runs once per guest, whatever its user-data says. Files first, then what makes them count; it
 * always ends well, so that no image is reported degraded for lack of a part, and leaves word of what it could not do.
 */
export function fleetPayload({ vmId, ssh, clock }: FleetPayload): string {
  const sshd = sshdLines({ userCas: ssh.userCas, hostCertificate: ssh.hostKey?.certificate ?? '' })
  const follows = clock === 'auto' || clock === 'host-only'
  return [
    '#!/bin/sh',
    '# Settings every VM of the fleet has, whatever its user-data says.',
    'umask 022',
    `report=${PAYLOAD_REPORT}`,
    'mkdir -p "$(dirname "$report")"',
    `echo ${vmId} >"$report.new"`,
    'outcome=applied',
    'said() { echo "$*" >>"$report.new"; [ "$2" = failed ] && outcome=incomplete; true; }',
    'put() { mkdir -p "$(dirname "$1")" && cat >"$1.new" && chmod 0644 "$1.new" && mv "$1.new" "$1"; }',
    ...(ssh.userCas.length > 0 ? [...put(USER_CA_FILE, ssh.userCas), ...putRevoked(ssh.revoked)] : []),
    ...(sshd.length > 0 ? put(SSHD_DROP_IN, sshd) : []),
    '# After a suspend of the host the clock is off by hours: it is stepped whenever it is, not only at boot.',
    ...put(CHRONY_DROP_IN, ['makestep 1 -1']),
    '# And told to chrony once it runs: the makestep of Debian stands behind its drop-ins, and the last one wins.',
    ...CHRONY_UNITS.flatMap((unit) => put(`${unit}.d/10-eitri-clock.conf`, ['[Service]', STEP_ALWAYS])),
    ...(follows ? ptpFiles(clock) : []),
    ...GROW,
    ...(sshd.length > 0 ? RELOAD_SSHD : []),
    ...(follows ? ['udevadm control --reload 2>/dev/null', 'udevadm trigger --subsystem-match=ptp 2>/dev/null'] : []),
    ...restartChrony(follows),
    'echo end >>"$report.new" && mv "$report.new" "$report"',
    `printf '\\033]7791;eitri-payload;%s;${vmId.slice(0, 12)}\\007' "$outcome" >/dev/console 2>/dev/null`,
    'exit 0',
    '',
  ].join('\n')
}

const put = (path: string, lines: readonly string[]): string[] => [`put ${path} <<'${END}'`, ...lines, END]

/** A list that cannot be unpacked is an empty one: without the file nobody could log in by key at all. */
const putRevoked = (revoked: Uint8Array = new Uint8Array()): string[] => [
  `unpack() { base64 -d >"$1.raw" 2>/dev/null || : >"$1.raw"; put "$1" <"$1.raw"; rm -f "$1.raw"; }`,
  `unpack ${REVOKED_KEYS} <<'${END}'`,
  ...base64Lines(revoked),
  END,
]

/** The root's partition, the first unless the guest says another; online. */
const GROW = [
  'grow() {',
  '  part=1 root=$(findmnt -no SOURCE / 2>/dev/null)',
  '  case $root in /dev/vda[0-9] | /dev/vda[0-9][0-9]) part=$(expr "$root" : \'.*vda\\([0-9]*\\)\') ;; esac',
  '  [ -b /dev/vda$part ] || { said disk skipped there is no partition to grow; return; }',
  "  printf ',+\\n' | sfdisk --no-reread --no-tell-kernel -N $part /dev/vda && partx -u /dev/vda || {",
  '    said disk failed its partition table was not changed; return; }',
  '  case $(findmnt -no FSTYPE / 2>/dev/null) in',
  '  xfs) xfs_growfs / ;;',
  '  btrfs) btrfs filesystem resize max / ;;',
  '  *) resize2fs /dev/vda$part ;;',
  '  esac || { said disk failed the file system did not grow; return; }',
  '  said disk ok',
  '}',
  'grow',
]

/** sshd is never reloaded with what it refuses, and a file of ours it refuses does not stay for the next boot. */
const RELOAD_SSHD = [
  'if sshd -t; then',
  '  { systemctl reload sshd 2>/dev/null || systemctl reload ssh 2>/dev/null; } ; said trust ok',
  `else mv ${SSHD_DROP_IN} ${SSHD_DROP_IN}.off`,
  '  if sshd -t; then said trust failed sshd refuses the settings of the fleet, which are taken out',
  `  else mv ${SSHD_DROP_IN}.off ${SSHD_DROP_IN}; said trust failed sshd refuses its configuration; fi`,
  'fi',
]

/** Both names, Debian's and the others': where chrony is missing there is nothing to fail. */
function restartChrony(follows: boolean): string[] {
  const restart = 'systemctl try-restart chrony.service chronyd.service 2>/dev/null || true'
  const runs = 'systemctl is-active --quiet chrony.service || systemctl is-active --quiet chronyd.service'
  return [
    'clock() {',
    '  command -v chronyd >/dev/null 2>&1 || { said clock skipped chrony is not installed; return; }',
    `  ran=; if ${runs}; then ran=yes; fi`,
    '  systemctl daemon-reload 2>/dev/null',
    `  ${restart}`,
    `  if [ -z "$ran" ]; then said clock skipped chrony is not running; return; fi`,
    `  if ! { ${runs}; }; then`,
    ...(follows ? [`    rm -f ${PTP_SCRIPT} ${PTP_CONFIG} ${HOST_ONLY_OPTIONS}`] : []),
    '    systemctl restart chrony.service 2>/dev/null || systemctl restart chronyd.service 2>/dev/null',
    '    said clock failed chrony did not start with the settings of the fleet; return; fi',
    "  grep -Eqs '^confdir .*/chrony/conf[.]d' /etc/chrony/chrony.conf /etc/chrony.conf || {",
    '    said clock failed chrony reads no drop-ins; return; }',
    '  said clock ok',
    '}',
    'clock',
  ]
}

/**
 * The host's clock as chrony's reference, decided at each start of chrony: with the device named but not there chronyd
 * would not run at all. Only "host-only" takes the network's sources out, and only where the device is.
 */
function ptpFiles(clock: ClockPolicy): string[] {
  const alone = clock === 'host-only'
  const unit = [
    '[Service]',
    `ExecStartPre=-+/bin/sh ${PTP_SCRIPT}`,
    ...(alone ? [`EnvironmentFile=-${HOST_ONLY_OPTIONS}`] : []),
  ]
  return [
    '# The group chrony runs as, which differs between distributions.',
    'group=; for name in _chrony chrony; do group=$(id -gn $name 2>/dev/null) && break; done',
    'owner=; [ -n "$group" ] && owner=", GROUP=\\"$group\\", MODE=\\"0660\\""',
    `put ${UDEV_RULE} <<${END}`,
    'SUBSYSTEM=="ptp", ATTR{clock_name}=="kvm|KVM virtual PTP", SYMLINK+="ptp_kvm"$owner',
    END,
    ...put(PTP_SCRIPT, ptpScript(alone)),
    ...put('/etc/systemd/system/chrony.service.d/10-eitri-ptp-kvm.conf', unit),
    ...put('/etc/systemd/system/chronyd.service.d/10-eitri-ptp-kvm.conf', unit),
  ]
}

function ptpScript(alone: boolean): string[] {
  const options = (file: string, name: string, fallback: string) =>
    `  ( ${name}='${fallback}'; [ -r ${file} ] && . ${file}; echo "${name}=\\"$${name} -f ${HOST_ONLY_CONFIG}\\"" ) >>${HOST_ONLY_OPTIONS}`
  return [
    '# Before each start of chrony: follow the clock of the host where this machine has it.',
    'modprobe -q ptp_kvm',
    'udevadm settle -t 2',
    `rm -f ${PTP_CONFIG} ${HOST_ONLY_CONFIG} ${HOST_ONLY_OPTIONS}`,
    'if [ -c /dev/ptp_kvm ]; then',
    '  mkdir -p /etc/chrony/conf.d',
    `  echo 'refclock PHC /dev/ptp_kvm poll 2 stratum 1 delay 0.0004 prefer' >${PTP_CONFIG}`,
    ...(alone
      ? [
          '  main=/etc/chrony/chrony.conf; [ -r $main ] || main=/etc/chrony.conf',
          `  sed -E 's/^[[:space:]]*(pool|server|peer|sourcedir)[[:space:]]/# &/' $main >${HOST_ONLY_CONFIG}`,
          '  mkdir -p /run/eitri',
          options('/etc/default/chrony', 'DAEMON_OPTS', '-F 1'),
          options('/etc/sysconfig/chronyd', 'OPTIONS', '-F 2'),
        ]
      : []),
    'fi',
  ]
}
