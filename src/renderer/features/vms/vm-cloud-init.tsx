import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { cloudInitVerdict, type GuestVerdict, payloadVerdict } from '../../../ipc/guest-words.ts'
import { LIMITS } from '../../../ipc/units.ts'
import { formatAgo, formatDuration } from '../../lib/format.ts'
import { msOf } from '../../lib/timestamp.ts'
import { hrefOf } from '../../routes.ts'
import { useNow } from '../../state/now.ts'
import { buttonClass } from '../../ui/button.tsx'
import { Card, Facts } from '../../ui/page.tsx'
import { StateWord } from '../../ui/state-word.tsx'
import { masked, stageViews } from './guest-text.ts'

type Guest = NonNullable<Vm['guest']>

/** What the guest says of its own first boot: cloud-init module by module, and what the fleet owes it. */
export function CloudInitPart({ vm }: { vm: Vm }) {
  const now = useNow()
  if (vm.power !== 'running')
    return (
      <Centred>
        <p className="text-dim">It does not run. A guest is asked while it does. user-data: {userDataWords(vm)}.</p>
      </Centred>
    )
  const { guest } = vm
  const verdict = cloudInitVerdict(guest)
  const payload = payloadVerdict(guest)
  const asOf = msOf(guest?.asOf)
  return (
    <Centred>
      <Card title="cloud-init">
        <Verdict verdict={verdict} old={vm.hostUnknown} />
        {(verdict.tone === 'unknown' || verdict.tone === 'busy') && (
          <p className="mt-2 text-dim">
            {verdict.tone === 'busy' && atWork(vm, asOf, now)} Its console shows each step.{' '}
            <a href={hrefOf({ page: 'vm', id: vm.id, tab: 'console' })} className="text-accent underline">
              Open the console
            </a>
          </p>
        )}
        {guest && isSaid(guest) && <Stages guest={guest} />}
        {guest && guest.modules.length > 0 && <Modules modules={guest.modules} />}
      </Card>
      <Card title="What the fleet put in">
        {payload ? (
          <Verdict verdict={payload} old={vm.hostUnknown} />
        ) : (
          <p className="text-dim">Nothing in the guest says whether it was applied.</p>
        )}
      </Card>
      <Card title="Who says so">
        <Facts
          rows={[
            ['user-data', userDataWords(vm)],
            ['Guest agent', agentWords(vm)],
            ['Last asked', askedWords(asOf, vm.hostUnknown, now)],
          ]}
        />
      </Card>
    </Centred>
  )
}

/** How long, and the last sign of life: never only that it turns. */
function atWork(vm: Vm, asOf: number | undefined, now: number): string {
  const since = msOf(vm.startedAt)
  const long = since === undefined ? '' : `Started ${formatDuration(now - since)} ago. `
  return `${long}${asOf === undefined ? '' : `The guest last said so ${formatAgo(new Date(asOf), new Date(now))}.`}`
}

const Centred = ({ children }: { children: React.ReactNode }) => (
  <div className="mx-auto grid max-w-5xl gap-4">{children}</div>
)

function Verdict({ verdict, old }: { verdict: GuestVerdict; old: boolean }) {
  const { tone, text, effect } = verdict
  return (
    <div>
      <StateWord strong state={{ word: text, tone: old ? 'unknown' : tone }} />
      {(effect || old) && (
        <p className="mt-1 text-dim">
          {[effect, old ? 'Last known: its host is not answering.' : ''].join(' ').trim()}
        </p>
      )}
    </div>
  )
}

/** Whether there is a cloud-init that could say how far it is. */
const isSaid = ({ cloudInit }: Guest): boolean => !['', 'disabled', 'absent'].includes(cloudInit)

/** The stages of a boot in their order, each by what the guest said of it. */
function Stages({ guest }: { guest: Guest }) {
  return (
    <ol aria-label="Stages" className="mt-3 grid gap-2 border-line border-t pt-3 sm:grid-cols-2 lg:grid-cols-4">
      {stageViews(guest).map(({ stage, what, tone, text }, i) => (
        <li key={stage} className="min-w-0 rounded-md border border-line bg-bg px-3 py-2">
          <span className="block font-medium">
            <span className="text-faint">{i + 1}</span> {stage}
          </span>
          <StateWord state={{ word: text, tone }} />
          <span className="block text-faint text-xs">{what}</span>
        </li>
      ))}
    </ol>
  )
}

function Modules({ modules }: { modules: Guest['modules'] }) {
  return (
    <ul aria-label="Modules that did not go well" className="mt-3 grid gap-1.5 border-line border-t pt-3">
      {modules.map(({ name, stage, result, detail }) => (
        <li key={`${stage} ${name}`} className="grid gap-x-3 sm:grid-cols-[minmax(9rem,20rem)_1fr]">
          <StateWord state={{ word: `${name} ${result}`, tone: result === 'failed' ? 'bad' : 'warn' }} />
          <span className="min-w-0 break-words text-dim">
            {[masked(detail), stage && `(${stage})`].filter(Boolean).join(' ') || 'it said no more'}
          </span>
        </li>
      ))}
    </ul>
  )
}

function userDataWords({ cloudInitBytes }: Vm): string {
  if (cloudInitBytes === undefined) return 'not known here'
  if (cloudInitBytes === 0) return 'none was given'
  return `${cloudInitBytes.toLocaleString('en')} of ${LIMITS.cloudInitBytes.toLocaleString('en')} bytes, as it was written; it is not shown`
}

function agentWords({ guest }: Vm): string {
  if (!guest?.guestAgent) return 'not asked yet'
  if (guest.guestAgent === 'silent') return 'silent: it is not there, or it hangs'
  return ['answers', guest.guestAgentVersion && `version ${guest.guestAgentVersion}`].filter(Boolean).join(', ')
}

function askedWords(asOf: number | undefined, old: boolean, now: number): string {
  if (asOf === undefined) return 'never'
  return old ? formatAgo(new Date(asOf), new Date(now)) : 'within the last minutes'
}

/** On the overview: what went wrong at the first boot, with the way to its errors. Nothing when nothing did. */
export function GuestTrouble({ vm }: { vm: Vm }) {
  if (vm.power !== 'running' || vm.hostUnknown) return null
  const verdicts = [cloudInitVerdict(vm.guest), payloadVerdict(vm.guest)].filter(
    (verdict): verdict is GuestVerdict => verdict?.tone === 'bad' || verdict?.tone === 'warn',
  )
  return verdicts.map((verdict) => (
    <div
      key={verdict.text}
      role="status"
      className="flex items-start gap-4 rounded-lg border border-warn/40 bg-warn/6 px-3 py-2.5"
    >
      <div className="min-w-0 flex-1">
        <p className="break-words font-medium">{verdict.text}</p>
        {verdict.effect && <p className="text-dim">{verdict.effect}</p>}
      </div>
      <a href={hrefOf({ page: 'vm', id: vm.id, tab: 'cloud-init' })} className={buttonClass('plain', 'small')}>
        See errors
      </a>
    </div>
  ))
}
