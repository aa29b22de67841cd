import { setPreference, usePreferences } from '../state/preferences.ts'
import { Dialog } from './dialog.tsx'
import { CheckField } from './field.tsx'

const KEYS: [string, [string, string][]][] = [
  [
    'Anywhere',
    [
      ['Ctrl K  ⌘ K', 'Search and act'],
      ['g h · g v · g i · g n', 'Hosts, VMs, Images, Networks'],
      ['g p · g k · g a', 'Published ports, Clock, Activity'],
      ['n', 'Create VM'],
      ['/', 'Filter'],
      ['F6 · Shift F6', 'Next, previous part of the window'],
      ['Esc', 'Back one layer'],
      ['?', 'This sheet'],
    ],
  ],
  [
    'Tables',
    [
      ['j k · ↓ ↑', 'Move'],
      ['Enter', 'Open'],
      ['.', 'Actions of the row'],
    ],
  ],
  [
    'A VM',
    [
      ['c', 'Console'],
      ['p', 'Publish a port'],
      ['Alt 1 · Alt 2', 'Overview, Console'],
      ['Alt 3 · Alt 4 · Alt 5', 'cloud-init, Ports, Clock'],
    ],
  ],
  [
    'In a console, all other keys go to the guest',
    [
      ['F6', 'Leave (Ctrl F6 sends F6)'],
      ['Ctrl Shift F', 'Find'],
      ['Ctrl Shift C · V', 'Copy, paste'],
    ],
  ],
]

export function KeySheet({ onClose }: { onClose: () => void }) {
  const single = usePreferences((p) => p.singleKeys)
  return (
    <Dialog open wide onClose={onClose} title="Keys">
      <div className="grid gap-x-8 gap-y-4 pb-2 sm:grid-cols-2">
        {KEYS.map(([title, rows]) => (
          <section key={title}>
            <h3 className="mb-1.5 font-medium text-faint text-xs">{title}</h3>
            <dl className="grid gap-1">
              {rows.map(([keys, text]) => (
                <div key={keys} className="flex items-baseline justify-between gap-4">
                  <dt className="order-2 whitespace-pre font-mono text-dim text-xs">{keys}</dt>
                  <dd>{text}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
      <div className="border-line border-t py-3">
        <CheckField
          label="Single-letter keys"
          hint="Off: only keys with Ctrl, Alt or ⌘ act."
          checked={single}
          onChange={(e) => setPreference('singleKeys', e.target.checked)}
        />
      </div>
    </Dialog>
  )
}
