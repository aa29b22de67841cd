import type { ReactNode } from 'react'
import type { Ca } from '../../../ipc/gen/eitri/fleet/v1/trust_pb.js'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { formatAgo, formatDate, formatTime } from '../../lib/format.ts'
import { msOf } from '../../lib/timestamp.ts'
import { hrefOf } from '../../routes.ts'
import { useNow } from '../../state/now.ts'
import { Button } from '../../ui/button.tsx'
import { CopyButton, CopyText } from '../../ui/copy-text.tsx'
import { Card, Facts } from '../../ui/page.tsx'
import { StateWord } from '../../ui/state-word.tsx'
import { useAuthorities, useRevokedList } from '../trust/queries.ts'
import { listState } from '../trust/view-model.ts'
import { hostCertificateState, isSameKey, keyWords } from './certificate-view.ts'

/** Who may log in to it and how it proves itself: its host certificate, the CAs it was made to trust, what it knows of revoked ones. */
export function VmTrust({ vm }: { vm: Vm }) {
  const cas = useAuthorities()
  return (
    <div className="mx-auto grid max-w-5xl gap-4">
      {cas.isError && <Unread what="The CAs of this fleet" again={() => void cas.refetch()} />}
      <LogIn vm={vm} />
      <div className="grid gap-4 lg:grid-cols-2">
        <HostCertificate vm={vm} cas={cas.data} />
        <UserCas vm={vm} cas={cas.data} />
      </div>
      <Revocations vm={vm} />
    </div>
  )
}

const Unread = ({ what, again }: { what: string; again: () => void }) => (
  <p role="status" className="flex items-center gap-3 text-dim">
    {what} could not be read: names are missing below.
    <Button size="small" onClick={again}>
      Try again
    </Button>
  </p>
)

const TrustLink = ({ children }: { children: ReactNode }) => (
  <a href={hrefOf({ page: 'trust', tab: 'authorities' })} className="text-accent underline">
    {children}
  </a>
)

function LogIn({ vm }: { vm: Vm }) {
  return (
    <Card title="Log in">
      <p className="mb-2 text-dim">By a certificate made for it, good for 30 minutes; no key is left in the guest.</p>
      <CopyText text={`eitri ssh ${vm.name}`} label="Copy the command" />
      {vm.sshName && (
        <p className="mt-3 flex items-center gap-1 text-dim">
          What SSH calls it: <code className="font-mono text-ink text-xs">{vm.sshName}</code>
          <CopyButton text={vm.sshName} label="Copy the SSH name" />
        </p>
      )}
    </Card>
  )
}

function HostCertificate({ vm, cas }: { vm: Vm; cas: readonly Ca[] | undefined }) {
  const now = useNow()
  const revoked = useRevokedList()
  const certificate = vm.hostCertificate
  const ends = msOf(certificate?.validBefore)
  if (!certificate || ends === undefined)
    return (
      <Card title="Host certificate">
        <p className="text-dim">
          It has none: SSH asks about its key at the first log-in. <TrustLink>A host CA</TrustLink> signs those of VMs
          made from then on.
        </p>
      </Card>
    )
  const ca = cas?.find(({ fingerprint }) => fingerprint === certificate.caFingerprint)
  const isRevoked = revoked.data?.revoked.some(({ serial }) => serial === certificate.serial) ?? false
  return (
    <Card title="Host certificate">
      <Facts
        rows={[
          ['State', <StateWord key="s" state={hostCertificateState(certificate, now, { isRevoked, ca: ca?.state })} />],
          [
            'Valid until',
            <span key="u" title={new Date(ends).toISOString()}>
              {formatDate(new Date(ends))}
            </span>,
          ],
          ['Signed by', ca ? <TrustLink key="ca">{ca.name}</TrustLink> : 'a CA this fleet does not name'],
          ['CA', <Mono key="f" text={certificate.caFingerprint} label="Copy the fingerprint of the CA" />],
          ['Serial', <Mono key="n" text={certificate.serial} label="Copy the serial" />],
        ]}
      />
    </Card>
  )
}

const Mono = ({ text, label }: { text: string; label: string }) => (
  <span className="flex min-w-0 items-center gap-1">
    <code className="min-w-0 break-all font-mono text-xs">{text}</code>
    <CopyButton text={text} label={label} />
  </span>
)

function UserCas({ vm, cas }: { vm: Vm; cas: readonly Ca[] | undefined }) {
  const trusted = vm.trustedCas?.publicKeys
  return (
    <Card title="User CAs it trusts">
      {trusted === undefined ? (
        <p className="text-dim">Not recorded: it was made before that was kept, or as a clone.</p>
      ) : trusted.length === 0 ? (
        <p className="text-dim">None: nobody gets in by certificate, only by a key that was put in.</p>
      ) : (
        <ul className="grid gap-1.5">
          {trusted.map((line) => {
            const ca = cas?.find(({ publicKey }) => isSameKey(publicKey, line))
            return (
              <li key={line} className="flex min-w-0 items-center gap-2">
                <span className="min-w-0 flex-1 truncate" title={line}>
                  {ca ? <TrustLink>{ca.name}</TrustLink> : <span className="text-dim">not of this fleet now</span>}{' '}
                  <code className="font-mono text-faint text-xs">{ca?.fingerprint ?? keyWords(line)}</code>
                </span>
                {ca && ca.state !== 'signing' && <span className="text-dim text-xs">{ca.state}</span>}
                <CopyButton text={line} label="Copy the public key" />
              </li>
            )
          })}
        </ul>
      )}
      <p className="mt-3 text-faint text-xs">
        Frozen when it was made: CAs made since are not in it, and those retired still are until it is made anew.
      </p>
    </Card>
  )
}

const UNKNOWN = { word: 'Unknown', tone: 'unknown' } as const

function Revocations({ vm }: { vm: Vm }) {
  const runs = vm.power === 'running' && !vm.hostUnknown
  const asOf = msOf(vm.trust?.asOf)
  const now = useNow()
  return (
    <Card title="Revoked certificates">
      {runs || vm.trust ? (
        <Facts
          rows={[
            [
              'List it holds',
              <StateWord key="r" state={vm.trust && !vm.hostUnknown ? listState(vm.trust) : UNKNOWN} />,
            ],
            ...(vm.trust?.detail ? ([['Why', vm.trust.detail]] satisfies [string, string][]) : []),
            [
              'As of',
              asOf === undefined
                ? 'never'
                : `${formatTime(new Date(asOf), new Date(now))} (${formatAgo(new Date(asOf), new Date(now))})`,
            ],
          ]}
        />
      ) : (
        <p className="text-dim">A guest is given the list while it runs.</p>
      )}
    </Card>
  )
}
