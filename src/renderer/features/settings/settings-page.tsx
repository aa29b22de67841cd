import type { SettingsPart } from '../../routes.tsx'
import { Page, PageTitle } from '../../ui/page.tsx'

export function SettingsPage({ part }: { part: SettingsPart }) {
  return <Page title={<PageTitle>Settings</PageTitle>}>{part}</Page>
}
