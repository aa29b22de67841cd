import { Moon, Search, Sun } from 'lucide-react'
import { NoticeBell } from '../features/notices/notice-bell.tsx'
import { setPreference, usePreferences } from '../state/preferences.ts'
import { IconButton } from './button.tsx'
import { keyText } from './key-table.ts'
import { ScopeMenu } from './scope-menu.tsx'

/** Above every page: what part of the fleet is meant, one box to find and do, and what happened meanwhile. */
export function TopBar({ onPalette }: { onPalette: () => void }) {
  return (
    <section
      data-region="top"
      aria-label="Scope, search and notices"
      className="flex h-11 shrink-0 items-center gap-3 border-line border-b bg-bg px-3"
    >
      <ScopeMenu />
      <button
        type="button"
        onClick={onPalette}
        aria-label="Search and act"
        className="mx-auto flex h-7 w-full min-w-8 max-w-md items-center gap-2 rounded-md border border-line bg-panel px-2.5 text-faint hover:border-line-strong hover:text-dim"
      >
        <Search size={13} aria-hidden className="shrink-0" />
        <span className="truncate">Search and act</span>
        <kbd className="ml-auto hidden whitespace-nowrap font-sans text-xs sm:inline">{keyText('mod+k')}</kbd>
      </button>
      <div className="flex shrink-0 items-center gap-1">
        <ThemeButton />
        <NoticeBell />
      </div>
    </section>
  )
}

function ThemeButton() {
  const theme = usePreferences((p) => p.theme)
  const next = { system: 'light', light: 'dark', dark: 'system' } as const
  const words = { system: 'follows the system', light: 'light', dark: 'dark' }
  return (
    <IconButton
      label={`Appearance: ${words[theme]}. Change to ${words[next[theme]]}`}
      onClick={() => setPreference('theme', next[theme])}
    >
      {theme === 'dark' ? <Moon size={15} aria-hidden /> : <Sun size={15} aria-hidden />}
    </IconButton>
  )
}
