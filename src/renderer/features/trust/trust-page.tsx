import type { TrustTab } from '../../routes.tsx'
import { Page, PageTitle } from '../../ui/page.tsx'

export function TrustPage({ tab }: { tab: TrustTab }) {
  return <Page title={<PageTitle>Trust</PageTitle>}>{tab}</Page>
}
