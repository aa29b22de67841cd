import type { KeyboardEvent } from 'react'
import { cx } from '../../lib/class-names.ts'
import { go, hrefOf, SETTINGS_PARTS, type SettingsPart } from '../../routes.ts'
import { useTabKeys } from '../../ui/keys.ts'
import { Page, PageTitle } from '../../ui/page.tsx'
import { AppearancePart } from './appearance-part.tsx'
import { DataPart } from './data-part.tsx'
import { KeysPart } from './keys-part.tsx'
import { NotificationsPart } from './notifications-part.tsx'
import { QuarantinePart } from './quarantine-part.tsx'
import { PART_TITLES } from './settings-entries.ts'
import { SshPart } from './ssh-part.tsx'
import { SupportPart } from './support-part.tsx'
import { TerminalPart } from './terminal-part.tsx'

const PARTS: Record<SettingsPart, () => React.ReactNode> = {
  appearance: AppearancePart,
  keys: KeysPart,
  terminal: TerminalPart,
  notifications: NotificationsPart,
  quarantine: QuarantinePart,
  ssh: SshPart,
  data: DataPart,
  support: SupportPart,
}

export function SettingsPage({ part }: { part: SettingsPart }) {
  const Part = PARTS[part]
  useTabKeys(SETTINGS_PARTS, (next) => go({ page: 'settings', part: next }))
  return (
    <Page title={<PageTitle>Settings</PageTitle>}>
      <div className="@container min-h-0 flex-1">
        <div className="flex h-full flex-col bg-bg @min-[720px]:flex-row">
          <PartList here={part} />
          <div key={part} className="min-h-0 min-w-0 flex-1 overflow-y-auto p-5">
            <div className="mx-auto grid max-w-3xl gap-4">
              <Part />
            </div>
          </div>
        </div>
      </div>
    </Page>
  )
}

/** Up and down, or Alt with a number, go from part to part. */
function PartList({ here }: { here: SettingsPart }) {
  const onKeyDown = (event: KeyboardEvent) => {
    const by = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key]
    const next = by && SETTINGS_PARTS[SETTINGS_PARTS.indexOf(here) + by]
    if (!next) return
    event.preventDefault()
    go({ page: 'settings', part: next })
    event.currentTarget.querySelector<HTMLElement>(`[data-part="${next}"]`)?.focus()
  }
  return (
    <nav
      aria-label="Settings"
      onKeyDown={onKeyDown}
      className="flex shrink-0 gap-0.5 overflow-x-auto border-line border-b p-2 @min-[720px]:w-44 @min-[720px]:flex-col @min-[720px]:border-r @min-[720px]:border-b-0 @min-[720px]:p-3"
    >
      {SETTINGS_PARTS.map((part, i) => (
        <a
          key={part}
          ref={(link) => {
            if (part === here) link?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
          }}
          data-part={part}
          href={hrefOf({ page: 'settings', part })}
          title={`${PART_TITLES[part]} (Alt ${i + 1})`}
          {...(part === here ? { 'aria-current': 'page' as const } : {})}
          className={cx(
            'flex h-8 shrink-0 items-center rounded-md px-2.5 transition-colors',
            part === here
              ? 'bg-panel font-medium text-ink shadow-[inset_0_0_0_1px_var(--line)]'
              : 'text-dim hover:bg-hover hover:text-ink',
          )}
        >
          {PART_TITLES[part]}
        </a>
      ))}
    </nav>
  )
}
