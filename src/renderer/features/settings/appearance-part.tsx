import { setPreference, usePreferences } from '../../state/preferences.ts'
import { Choice, Setting, SettingGroup, Told } from './setting.tsx'

export function AppearancePart() {
  const { theme, contrast, density, rail } = usePreferences()
  const reduced = matchMedia('(prefers-reduced-motion: reduce)').matches
  return (
    <SettingGroup title="Appearance" about="Kept in this window's profile, and taken over by every window at once.">
      <Setting id="theme" label="Theme" hint="Consoles have colours of their own, under Terminal.">
        <Choice
          label="Theme"
          value={theme}
          of={[
            ['system', 'As the system'],
            ['light', 'Light'],
            ['dark', 'Dark'],
          ]}
          onChoose={(value) => setPreference('theme', value)}
        />
      </Setting>
      <Setting id="contrast" label="Contrast" hint="High: stronger borders and darker secondary text.">
        <Choice
          label="Contrast"
          value={contrast}
          of={[
            ['system', 'As the system'],
            ['high', 'High'],
          ]}
          onChoose={(value) => setPreference('contrast', value)}
        />
      </Setting>
      <Setting id="density" label="Density of rows" hint="Comfortable rows are 40 pixels high, compact ones 32.">
        <Choice
          label="Density of rows"
          value={density}
          of={[
            ['comfortable', 'Comfortable'],
            ['compact', 'Compact'],
          ]}
          onChoose={(value) => setPreference('density', value)}
        />
      </Setting>
      <Setting id="rail" label="Navigation rail" hint="By itself: open where there is room.">
        <Choice
          label="Navigation rail"
          value={rail}
          of={[
            ['auto', 'By itself'],
            ['open', 'Open'],
            ['narrow', 'Narrow'],
          ]}
          onChoose={(value) => setPreference('rail', value)}
        />
      </Setting>
      <Setting id="motion" label="Motion" hint="Follows the setting of your system.">
        <Told>{reduced ? 'Reduced: nothing moves' : 'Short and sparse'}</Told>
      </Setting>
    </SettingGroup>
  )
}
