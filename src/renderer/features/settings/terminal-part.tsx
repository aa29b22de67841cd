import { FONT_SIZE, SCROLLBACK } from '../../state/preference-shape.ts'
import { patchPreference, usePreferences } from '../../state/preferences.ts'
import { terminalTheme } from '../consoles/terminal-theme.ts'
import { Choice, Setting, SettingGroup, Switch, shortInput } from './setting.tsx'

const SCROLLBACKS = [1_000, 10_000, 50_000, 100_000]
const numbers = new Intl.NumberFormat('en')

export function TerminalPart() {
  const terminal = usePreferences((p) => p.terminal)
  const set = (change: Partial<typeof terminal>) => patchPreference('terminal', change)
  return (
    <>
      <SettingGroup title="Look of consoles" about="Open consoles follow at once.">
        <Setting id="font" label="Font" hint="A name your system knows, or empty for the one the app brings.">
          <input
            aria-label="Font of consoles"
            placeholder="The app's own"
            maxLength={200}
            spellCheck={false}
            value={terminal.fontFamily}
            onChange={(event) => set({ fontFamily: event.target.value })}
            className={`${shortInput} w-48`}
          />
          <input
            type="number"
            aria-label="Font size of consoles, pixels"
            min={FONT_SIZE.least}
            max={FONT_SIZE.most}
            value={terminal.fontSize}
            onChange={(event) => {
              const size = Number(event.target.value)
              if (size >= FONT_SIZE.least && size <= FONT_SIZE.most) set({ fontSize: size })
            }}
            className={`${shortInput} w-18`}
          />
        </Setting>
        <Setting id="terminal-theme" label="Colours" hint="Separate from the theme of the app.">
          <Choice
            label="Colours of consoles"
            value={terminal.theme}
            of={[
              ['dark', 'Dark'],
              ['light', 'Light'],
              ['app', 'As the app'],
              ['high-contrast', 'High contrast'],
            ]}
            onChoose={(theme) => set({ theme })}
          />
        </Setting>
        <Setting
          id="minimum-contrast"
          label="Minimum contrast"
          hint="Text a guest prints in colours that are hard to read is made readable."
        >
          <Choice
            label="Minimum contrast"
            value={terminal.minimumContrast}
            of={[
              [1, 'As the guest says'],
              [4.5, '4.5 : 1'],
              [7, '7 : 1'],
            ]}
            onChoose={(minimumContrast) => set({ minimumContrast })}
          />
        </Setting>
        <Sample />
      </SettingGroup>
      <SettingGroup title="Typing and pasting">
        <Setting id="paste" label="Paste guard" hint="Asks before several lines, or control bytes, are pasted.">
          <Switch label="Paste guard" on={terminal.pasteGuard} onChange={(pasteGuard) => set({ pasteGuard })} />
        </Setting>
        <Setting
          id="broadcast"
          label="Typing into several consoles at once"
          hint="Off: the button for it is not there. On: it is off until you press it, and has a red frame."
        >
          <Switch
            label="Typing into several consoles at once"
            on={terminal.broadcast}
            onChange={(broadcast) => set({ broadcast })}
          />
        </Setting>
      </SettingGroup>
      <SettingGroup
        title="Log"
        about="Hosts keep the last 256 MiB of every serial console, whatever is set here and whether the app runs or not."
      >
        <Setting id="log" label="Timestamps" hint="When each line came, in a gutter at the left.">
          <Switch label="Timestamps" on={terminal.timestamps} onChange={(timestamps) => set({ timestamps })} />
        </Setting>
        <Setting
          label="Lines to scroll back"
          hint={`${numbers.format(SCROLLBACK.least)} to ${numbers.format(SCROLLBACK.most)}. More takes more memory in each open console.`}
        >
          <Choice
            label="Lines to scroll back"
            value={SCROLLBACKS.includes(terminal.scrollback) ? terminal.scrollback : SCROLLBACK.least}
            of={SCROLLBACKS.map((lines) => [lines, numbers.format(lines)])}
            onChoose={(scrollback) => set({ scrollback })}
          />
        </Setting>
      </SettingGroup>
    </>
  )
}

/** What a console looks like with these settings. */
function Sample() {
  const { theme, fontFamily, fontSize } = usePreferences((p) => p.terminal)
  usePreferences((p) => p.theme)
  const { background, foreground, green, blue } = terminalTheme(
    theme,
    document.documentElement.classList.contains('dark'),
  )
  return (
    <div className="py-3">
      <p className="mb-1 text-faint text-xs">Sample</p>
      <pre
        className="overflow-hidden rounded-md border border-line p-3 font-mono leading-[1.25]"
        style={{ background, color: foreground, fontSize, ...(fontFamily ? { fontFamily } : {}) }}
      >
        <span style={{ color: green }}>root@web-12</span>:<span style={{ color: blue }}>~</span># uptime{'\n'}
        {' 14:02:11 up 4 days,  load average: 0.08, 0.02, 0.00'}
        {'\n'}
        {'0O 1lI |  {} [] ()  äöü ß €  日本語'}
      </pre>
    </div>
  )
}
