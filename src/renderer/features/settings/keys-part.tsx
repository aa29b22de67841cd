import { setPreference, usePreferences } from '../../state/preferences.ts'
import { readerWords, useSystemReader } from '../../state/screen-reader.ts'
import { Button } from '../../ui/button.tsx'
import { KeyList } from '../../ui/key-list.tsx'
import { keyText } from '../../ui/key-table.ts'
import { Choice, Setting, SettingGroup, Switch } from './setting.tsx'

export function KeysPart() {
  const single = usePreferences((p) => p.singleKeys)
  const reader = usePreferences((p) => p.screenReader)
  const system = useSystemReader((s) => s.reader)
  const moved = usePreferences((p) => Object.keys(p.keys).length)
  return (
    <>
      <SettingGroup title="Keyboard">
        <Setting
          id="single"
          label="Single-letter keys"
          hint={`Off: only keys with ${keyText('mod')} or ${keyText('alt')} act.`}
        >
          <Switch label="Single-letter keys" on={single} onChange={(on) => setPreference('singleKeys', on)} />
        </Setting>
        <Setting id="reader" label="Screen reader in consoles" hint={readerWords(reader, system)}>
          <Choice
            label="Screen reader in consoles"
            value={reader}
            of={[
              ['auto', 'As the system'],
              ['on', 'On'],
              ['off', 'Off'],
            ]}
            onChoose={(to) => setPreference('screenReader', to)}
          />
        </Setting>
      </SettingGroup>
      <SettingGroup
        title="All keys"
        about="A key in a frame can be changed: press it, then the new one. A key that is taken is refused by name."
      >
        <div id="keys" className="py-3">
          <KeyList />
        </div>
        <Setting label="Shipped keys" hint={moved === 0 ? 'Every key is as shipped.' : `${moved} changed by you.`}>
          <Button size="small" disabled={moved === 0} onClick={() => setPreference('keys', {})}>
            Put all back
          </Button>
        </Setting>
      </SettingGroup>
    </>
  )
}
