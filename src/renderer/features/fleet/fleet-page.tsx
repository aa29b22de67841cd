import { Page, PageTitle } from '../../ui/page.tsx'

export function FleetPage() {
  return <Page title={<PageTitle>Fleet</PageTitle>}>{null}</Page>
}
