import { timestampMs } from '@bufbuild/protobuf/wkt'
import { faultText } from '../../ipc/fault-text.ts'
import { faultFromData } from '../../ipc/faults.ts'
import type { Host } from '../../ipc/gen/eitri/fleet/v1/host_pb.js'

/** One part of a host, in the shape of `eitri-agent doctor`. */
export interface Finding {
  part: string
  state: 'ok' | 'warning' | 'missing'
  detail: string
  /** What does not work because of it; '' = nothing. */
  breaks: string
  /** What mends it; '' = no one thing does. */
  mend: string
}

const ok = (part: string, detail: string): Finding => ({ part, state: 'ok', detail, breaks: '', mend: '' })
const bad = (state: 'warning' | 'missing', part: string, detail: string, breaks = '', mend = ''): Finding => ({
  ...{ part, state, detail, breaks, mend },
})

const WEEK_MS = 7 * 24 * 3600_000
const SCARCE = 0.1

/** What the control plane knows of a host that keeps it from being well, best news first within a part. Pure. */
export function judgeHost(host: Host, now: number): Finding[] {
  return [
    link(host),
    ...(host.link === 'connected' ? [report(host)] : []),
    agent(host),
    ...upgrade(host),
    ...credential(host, now),
    ...(host.os === '' ? [] : [acceleration(host), missing(host)]),
    ...disk(host),
    ...data(host),
    ...network(host),
    ...(host.draining === '' ? [] : [bad('warning', 'new VMs', 'it is drained and takes none', '', undo(host))]),
    ...host.notices.map((notice) => bad('warning', 'notice', notice)),
  ]
}

/** 3 = something is missing or broken, else 0. */
export const doctorExit = (findings: readonly Finding[]): number =>
  findings.some(({ state }) => state === 'missing') ? 3 : 0

function link({ name, link: state, linkFault, carrier, address, kind }: Host): Finding {
  if (state === 'connected') return ok('link', [address || kind, carrier].filter(Boolean).join(', '))
  if (!linkFault) return bad('warning', 'link', state)
  const { code, params } = faultFromData({ ...linkFault, params: { host: name, ...linkFault.params } })
  const { what, effect, next } = faultText(code, params)
  return bad('missing', 'link', what, effect, next)
}

function report({ stale, lastSeenAgeMs }: Host): Finding {
  if (lastSeenAgeMs === undefined) return bad('warning', 'report', 'it has not reported yet')
  const age = `${Math.round(Number(lastSeenAgeMs) / 1000)} s ago`
  return stale ? bad('warning', 'report', `the last came ${age}`, 'What is shown is last known.') : ok('report', age)
}

function agent({ name, agentVersion, upgradeAvailable }: Host): Finding {
  if (upgradeAvailable === '') return ok('agent', agentVersion || 'not known yet')
  const detail = `${agentVersion}; ${upgradeAvailable} is here`
  return bad('warning', 'agent', detail, 'It may lack what this app can do.', `eitri host upgrade ${name}`)
}

function upgrade({ upgradeOutcome: last, pendingUpgrade }: Host): Finding[] {
  if (pendingUpgrade) return [bad('warning', 'upgrade', `${pendingUpgrade.version} is offered`)]
  if (last?.state !== 'refused' && last?.state !== 'rolled_back') return []
  const how = last.state === 'refused' ? 'was refused' : 'was taken back'
  return [bad('warning', 'upgrade', `${last.version} ${how}: ${last.detail}`, 'The older agent runs.')]
}

function credential({ credential: kind, credentialEndsAt }: Host, now: number): Finding[] {
  if (kind === 'revoked')
    return [bad('missing', 'credential', 'revoked', 'It is not heard.', 'eitri host join-blob, then join it again')]
  if (!credentialEndsAt) return []
  const left = timestampMs(credentialEndsAt) - now
  const until = new Date(timestampMs(credentialEndsAt)).toISOString()
  if (left > WEEK_MS) return [ok('credential', `until ${until}`)]
  const words = left > 0 ? `ends at ${until}` : `ended at ${until}`
  return [bad(left > 0 ? 'warning' : 'missing', 'credential', words, 'Its agent renews it while it is attached.')]
}

function acceleration({ acceleration: kind, accelerationDetail }: Host): Finding {
  if (kind === '') return bad('missing', 'acceleration', accelerationDetail || 'no VM can run', 'No VM can start.')
  if (kind !== 'tcg') return ok('acceleration', kind)
  return bad('warning', 'acceleration', accelerationDetail || 'emulation', 'VMs are many times slower.')
}

const missing = ({ missing: names, vmmVersion }: Host): Finding =>
  names.length === 0
    ? ok('programs', vmmVersion)
    : bad(
        'missing',
        'programs',
        names.join(', '),
        'VMs need them.',
        'install them there; "eitri-agent doctor" there says how',
      )

function disk({ metrics }: Host): Finding[] {
  const { diskFreeBytes: free, diskTotalBytes: total } = metrics ?? {}
  if (free === undefined || total === undefined || total === 0n) return []
  const words = `${(Number(free) / 2 ** 30).toFixed(1)} GiB free`
  return [Number(free) / Number(total) >= SCARCE ? ok('disk', words) : bad('warning', 'disk', words, 'VMs may pause.')]
}

function data({ name, newerData }: Host): Finding[] {
  if (!newerData) return []
  const detail = `the host has seen newer data of this fleet (epoch ${newerData.hostEpoch})`
  const mend = `eitri host takeover ${name} --from-older`
  return [bad('missing', 'data', detail, 'Changes made here do not reach it.', mend)]
}

function network({ name, networkFindings }: Host): Finding[] {
  return networkFindings
    .filter(({ mended }) => !mended)
    .map(({ severity, what, effect, mend, id }) =>
      bad(
        severity === 'blocks' ? 'missing' : 'warning',
        'network',
        what,
        effect,
        mend ? `eitri network mend ${name} ${id}` : '',
      ),
    )
}

const undo = ({ name }: Host): string => `eitri host drain ${name} --undo`
