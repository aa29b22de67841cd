import { END } from '../seed/fleet-payload.ts'
import {
  base64Lines,
  type GuestTrustFiles,
  HOST_CERTIFICATE,
  REVOKED_KEYS,
  SSHD_DROP_IN,
  sshdLines,
} from '../seed/ssh-trust.ts'

/** `absent`: the guest has no settings of the fleet for its sshd, by its user-data's will or because none came yet. */
export type TrustAnswer =
  | { outcome: 'written'; krlSha256: string }
  | { outcome: 'absent' }
  | { outcome: 'failed'; detail: string }

const DETAIL_LIMIT = 200

/**
 * A shell script that brings a running guest what its seed would hold by now. Each file takes its place in one step, one
 * that says what is there already is left alone, and sshd, which is told only of what it accepts, goes back to what it had.
 */
export function trustScript(trust: GuestTrustFiles): string {
  return [
    'PATH=$PATH:/usr/sbin:/usr/bin:/sbin:/bin',
    'umask 022',
    `dropin=${SSHD_DROP_IN} list=${REVOKED_KEYS} reload=`,
    '[ -e "$dropin" ] || { echo absent; exit 0; }',
    'failed() { echo "failed $*"; exit 0; }',
    'digest() { sha256sum <"$1" 2>/dev/null | cut -c 1-64; }',
    'put() {',
    '  { cat >"$1.eitri" && chmod 0644 "$1.eitri"; } 2>/dev/null || { rm -f "$1.eitri"; failed "$1 cannot be written"; }',
    '  if [ -n "$(digest "$1")" ] && [ "$(digest "$1.eitri")" = "$(digest "$1")" ]; then rm -f "$1.eitri"; return 1; fi',
    '  mv -f "$1.eitri" "$1" || failed "$1 cannot be replaced"',
    '}',
    ...(trust.userCas.length > 0 ? revokedLines(trust.revoked.bytes) : []),
    ...(trust.hostCertificate === ''
      ? []
      : [`put ${HOST_CERTIFICATE} <<'${END}' && reload=yes`, trust.hostCertificate.trim(), END]),
    'cp -f "$dropin" "$dropin.eitri-before" || failed "$dropin cannot be copied"',
    `put "$dropin" <<'${END}' && reload=yes`,
    ...sshdLines(trust),
    END,
    ...RELOAD,
    'rm -f "$dropin.eitri-before"',
    'echo "written $(digest "$list")"',
    '',
  ].join('\n')
}

/** First of all: sshd, once it is told of the list, lets nobody in while there is none. */
const revokedLines = (revoked: Uint8Array): string[] => [
  `base64 -d >"$list.raw" <<'${END}' || failed "the list of revoked certificates cannot be unpacked"`,
  ...base64Lines(revoked),
  END,
  'put "$list" <"$list.raw"',
  'rm -f "$list.raw"',
]

const RELOAD = [
  'if [ -n "$reload" ] && ! said=$(sshd -t 2>&1); then',
  '  mv -f "$dropin.eitri-before" "$dropin"',
  '  failed "sshd refuses its settings: $said"',
  'elif [ -n "$reload" ]; then',
  '  systemctl reload sshd 2>/dev/null || systemctl reload ssh 2>/dev/null ||',
  '    { [ -s /run/sshd.pid ] && kill -HUP "$(cat /run/sshd.pid)"; }',
  'fi',
]

/** What the script said; anything else is a failure of the guest's. */
export function trustAnswer(stdout: string): TrustAnswer {
  const text = stdout.trim()
  if (text === 'absent') return { outcome: 'absent' }
  const written = /^written( [0-9a-f]{64})?$/.exec(text)
  if (written) return { outcome: 'written', krlSha256: written[1]?.trim() ?? '' }
  const detail =
    /^failed (.*)/.exec(text)?.[1] ?? (text === '' ? 'its shell says nothing' : 'its shell says something else')
  return { outcome: 'failed', detail: detail.replace(/[^\x20-\x7e]/g, '?').slice(0, DETAIL_LIMIT) }
}
