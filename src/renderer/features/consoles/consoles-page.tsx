import { Page, PageTitle } from '../../ui/page.tsx'

export function ConsolesPage() {
  return <Page title={<PageTitle>Consoles</PageTitle>}>{null}</Page>
}
