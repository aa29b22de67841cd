import type { ReactNode } from 'react'
import { go, hrefOf, TRUST_TABS, type TrustTab } from '../../routes.ts'
import { useHostCount } from '../../state/use-fleet.ts'
import { useTabKeys } from '../../ui/keys.ts'
import { Page, PageTitle } from '../../ui/page.tsx'
import { PartLinks } from '../../ui/part-links.tsx'
import { Authorities, AuthorityActs } from './authorities.tsx'
import { Certificates, IssueButton } from './certificates.tsx'
import { Guests } from './guests.tsx'
import { HostKeys } from './host-keys.tsx'
import { useAuthorities, useCertificates, useGuestTrust, useRevokedList } from './queries.ts'
import { RevokeButton, Revoked } from './revoked.tsx'
import { OpenTrustSheet } from './sheets.tsx'
import { isRetired } from './view-model.ts'

const LABELS: Record<TrustTab, string> = {
  authorities: 'Authorities',
  certificates: 'Certificates',
  revoked: 'Revoked',
  guests: 'Guests',
  hosts: 'Host keys',
}
const BODY: Record<TrustTab, () => ReactNode> = {
  authorities: () => <Authorities />,
  certificates: () => <Certificates />,
  revoked: () => <Revoked />,
  guests: () => <Guests />,
  hosts: () => <HostKeys />,
}
const ACTS: Record<TrustTab, ReactNode> = {
  authorities: <AuthorityActs />,
  certificates: <IssueButton />,
  revoked: <RevokeButton />,
  guests: null,
  hosts: null,
}
const show = (tab: TrustTab) => go({ page: 'trust', tab })

/** Who signs, what was signed, what is refused, and who takes whose word for it. */
export function TrustPage({ tab }: { tab: TrustTab }) {
  useTabKeys(TRUST_TABS, show)
  const parts = useParts()
  return (
    <Page title={<PageTitle>Trust</PageTitle>} actions={ACTS[tab]}>
      <PartLinks of="Trust" here={tab} parts={parts} />
      {BODY[tab]()}
      <OpenTrustSheet />
    </Page>
  )
}

function useParts() {
  const cas = useAuthorities().data
  const certificates = useCertificates().data
  const revoked = useRevokedList().data
  const guests = useGuestTrust().data
  const keyTroubles = useHostCount(hasKeyTrouble)
  const counts: Partial<Record<TrustTab, number>> = {
    ...(cas ? { authorities: cas.filter((ca) => !isRetired(ca)).length } : {}),
    ...(certificates ? { certificates: certificates.length } : {}),
    ...(revoked ? { revoked: revoked.revoked.length } : {}),
    ...(guests ? { guests: guests.length } : {}),
  }
  const marks: Partial<Record<TrustTab, boolean>> = {
    authorities: cas?.some((ca) => ca.problem !== '' && !isRetired(ca)) ?? false,
    guests: guests?.some(({ cutOff, revocations }) => cutOff || revocations === 'failed') ?? false,
    hosts: keyTroubles > 0,
  }
  return TRUST_TABS.map((id) => {
    const count = counts[id]
    return {
      ...{ id, label: LABELS[id], href: hrefOf({ page: 'trust', tab: id }), mark: marks[id] ?? false },
      ...(count === undefined ? {} : { count }),
    }
  })
}

const hasKeyTrouble = ({ link }: { link: string }): boolean => link === 'key_changed' || link === 'key_not_trusted'
