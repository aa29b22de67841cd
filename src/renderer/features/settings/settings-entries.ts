import type { SettingsPart } from '../../routes.ts'

export interface SettingsEntry {
  part: SettingsPart
  /** Of the element on its page. */
  id: string
  text: string
  /** Other words people look for it by. */
  words: string
}

export const PART_TITLES: Record<SettingsPart, string> = {
  appearance: 'Appearance',
  keys: 'Keys',
  terminal: 'Terminal',
  notifications: 'Notifications',
  quarantine: 'Quarantine',
  ssh: 'SSH',
  data: 'Data',
  support: 'Support',
}

const of = (part: SettingsPart, ...entries: [id: string, text: string, words: string][]): SettingsEntry[] =>
  entries.map(([id, text, words]) => ({ part, id, text, words }))

/** Every setting, for the palette: where it is and what it is also called. */
export const SETTINGS_ENTRIES: readonly SettingsEntry[] = [
  ...of(
    'appearance',
    ['theme', 'Theme', 'dark light system colour mode'],
    ['contrast', 'Contrast', 'high contrast accessibility'],
    ['density', 'Density of rows', 'compact comfortable row height'],
    ['motion', 'Motion', 'animation reduced'],
    ['rail', 'Navigation rail', 'sidebar narrow open'],
  ),
  ...of(
    'keys',
    ['single', 'Single-letter keys', 'shortcut keyboard'],
    ['keys', 'Table of keys', 'shortcut keyboard remap binding'],
    ['reader', 'Screen reader', 'accessibility console text'],
  ),
  ...of(
    'terminal',
    ['font', 'Console font', 'size family monospace'],
    ['terminal-theme', 'Console colours', 'theme dark light'],
    ['minimum-contrast', 'Minimum contrast in consoles', 'accessibility'],
    ['paste', 'Paste guard', 'clipboard lines confirm'],
    ['broadcast', 'Typing into several consoles', 'broadcast'],
    ['log', 'Console log and scrollback', 'timestamps lines history'],
  ),
  ...of(
    'notifications',
    ['kinds', 'What to be told of', 'alerts bell crash lost certificate'],
    ['os', 'Notifications of this computer', 'desktop system banner'],
    ['quiet', 'Quiet hours', 'do not disturb night'],
  ),
  ...of('quarantine', ['grace', 'How long deleted VMs are kept', 'undo delete grace trash recycle bin tenant']),
  ...of(
    'ssh',
    ['config', 'SSH configuration', 'ssh config file hosts'],
    ['client', 'SSH client and agent', 'openssh keys agent'],
    ['secrets', 'Kept passwords and passphrases', 'keychain forget secret'],
  ),
  ...of(
    'data',
    ['folder', 'Data folder', 'location path store'],
    ['backup', 'Back up now', 'copy restore database'],
    ['retention', 'How long activity is kept', 'audit retention history log'],
  ),
  ...of(
    'support',
    ['bundle', 'Support bundle', 'diagnostics export redacted report help'],
    ['telemetry', 'Telemetry', 'privacy tracking analytics'],
  ),
]
