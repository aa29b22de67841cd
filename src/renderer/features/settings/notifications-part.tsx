import { desktopShell } from '../../api/bridge.ts'
import type { NoticeKind } from '../../state/preference-shape.ts'
import { patchPreference, usePreferences } from '../../state/preferences.ts'
import { Setting, SettingGroup, Switch, shortInput } from './setting.tsx'

const KINDS: Record<NoticeKind, [label: string, hint: string]> = {
  task: ['A task you started has ended', 'When it took longer than 10 s and the window was hidden.'],
  'vm-crashed': ['A VM crashed', 'Also one that starts again by itself.'],
  'host-lost': ['A host is lost', 'After 2 minutes without an answer; several at once are one notice.'],
  deadline: ['A certificate or key ends', '14 days, 3 days and 1 day before.'],
  'clock-jump': ['A clock jumped', 'By more than 5 s.'],
  quarantine: ['A quarantine ends', '24 hours before a deleted VM is destroyed.'],
}

export function NotificationsPart() {
  const notices = usePreferences((p) => p.notices)
  const quiet = (change: Partial<typeof notices.quiet>) =>
    patchPreference('notices', { quiet: { ...notices.quiet, ...change } })
  const time = (label: string, field: 'from' | 'to') => (
    <input
      type="time"
      aria-label={label}
      disabled={!notices.quiet.on}
      value={notices.quiet[field]}
      onChange={(event) => event.target.value && quiet({ [field]: event.target.value })}
      className={shortInput}
    />
  )
  return (
    <>
      <SettingGroup title="What to be told of" about="The bell keeps every one of them; nothing is said only once.">
        {(Object.keys(KINDS) as NoticeKind[]).map((kind, i) => (
          <Setting key={kind} {...(i === 0 ? { id: 'kinds' } : {})} label={KINDS[kind][0]} hint={KINDS[kind][1]}>
            <Switch
              label={KINDS[kind][0]}
              on={notices.kinds[kind]}
              onChange={(on) => patchPreference('notices', { kinds: { ...notices.kinds, [kind]: on } })}
            />
          </Setting>
        ))}
      </SettingGroup>
      <SettingGroup title="How">
        <Setting
          id="os"
          label="Notifications of this computer"
          hint={
            desktopShell().notify
              ? 'While the window is hidden. Each opens the exact object.'
              : 'Only in the desktop app; in a browser the bell is where they are.'
          }
        >
          <Switch
            label="Notifications of this computer"
            on={notices.os}
            onChange={(os) => patchPreference('notices', { os })}
          />
        </Setting>
        <Setting
          id="quiet"
          label="Quiet hours"
          hint="Nothing pops up meanwhile; the bell collects it. An end before the start means over midnight."
        >
          {time('Quiet from', 'from')}
          <span className="text-dim">to</span>
          {time('Quiet until', 'to')}
          <Switch label="Quiet hours" on={notices.quiet.on} onChange={(on) => quiet({ on })} />
        </Setting>
      </SettingGroup>
    </>
  )
}
