import { setPreference, usePreferences } from '../state/preferences.ts'
import { Dialog } from './dialog.tsx'
import { CheckField } from './field.tsx'
import { KeyList } from './key-list.tsx'
import { keyText } from './key-table.ts'

export function KeySheet({ onClose }: { onClose: () => void }) {
  const single = usePreferences((p) => p.singleKeys)
  return (
    <Dialog
      open
      wide
      onClose={onClose}
      title="Keys"
      description="A key in a frame can be changed: press it, then the new one."
    >
      <KeyList />
      <div className="mt-3 border-line border-t py-3">
        <CheckField
          label="Single-letter keys"
          hint={`Off: only keys with ${keyText('mod')} or ${keyText('alt')} act.`}
          checked={single}
          onChange={(e) => setPreference('singleKeys', e.target.checked)}
        />
      </div>
    </Dialog>
  )
}
