import { useState } from 'react'
import { usePreferences } from '../../state/preferences.ts'
import { toastDone } from '../../ui/toasts.tsx'
import type { ConsoleState } from './console-session.ts'
import { openShell } from './open.ts'
import type { OpenConsole } from './open-consoles.ts'
import { needsGuard, tooLongToPaste } from './paste-text.ts'
import { RESET_VIEW } from './terminal-modes.ts'
import { cursorLine, isPromptLike, terminalText } from './terminal-text.ts'
import type { Direction, PaneTarget } from './workspace-layout.ts'

/** What a pane can do as one of several. */
export interface WorkspaceActs {
  newTab: () => void
  splitRight: () => void
  splitDown: () => void
  /** The focus to the pane there. */
  move: (direction: Direction) => void
  /** The pane itself to there. */
  swap: (direction: Direction) => void
  /** More room for it, or less. */
  grow: (by: 1 | -1) => void
  close: () => void
  /** It has the focus now. */
  focused: () => void
}

/** What is open over a pane. */
export type PaneSheet = 'find' | 'text' | 'read-log' | 'log' | 'fit' | { paste: string }

/** What a pane can do, whatever asks for it: a chord, its menu, its head. */
export interface PaneActs {
  shell: boolean
  /** What is typed reaches the guest. */
  canType: boolean
  tabLeaves: boolean
  clipboardWrites: boolean
  find: () => void
  copy: () => void
  copyAll: () => void
  paste: () => void
  readAsText: () => void
  saveLog: () => void
  readLog: () => void
  send: (text: string) => void
  fit: () => void
  reset: () => void
  reconnect: () => void
  toggleTab: () => void
  toggleClipboard: () => void
  /** Absent = there is none beside this. */
  openShell?: () => void
  /** Absent = it stands alone. */
  workspace?: WorkspaceActs
}

interface Pane {
  target: PaneTarget
  state: ConsoleState | undefined
  workspace: WorkspaceActs | undefined
}

/** Consoles whose person said once that a size may be typed. */
const mayFit = new Set<string>()

export const fitCommand = ({ rows, cols }: { rows: number; cols: number }): string => `stty rows ${rows} cols ${cols}`

/** Types the size at the prompt. */
export function fitted(console: OpenConsole): void {
  mayFit.add(console.key)
  console.session.input(`${fitCommand(console.terminal)}\r`, 'person')
}

export function usePaneActs(console: OpenConsole | undefined, { target, state, workspace }: Pane) {
  const [sheet, setSheet] = useState<PaneSheet>()
  const [menu, setMenu] = useState(false)
  const [tabLeaves, setTabLeaves] = useState(false)
  const [clipboardWrites, setClipboardWrites] = useState(false)
  const guard = usePreferences((p) => p.terminal.pasteGuard)
  const terminal = console?.terminal
  const pasted = (text: string) => {
    if (text === '') return
    if ((guard && needsGuard(text)) || tooLongToPaste(text) !== undefined) setSheet({ paste: text })
    else console?.paste(text)
  }
  const acts: PaneActs = {
    shell: target.kind === 'shell',
    canType: state?.link === 'live' && state.keyboard,
    tabLeaves,
    clipboardWrites,
    find: () => setSheet('find'),
    copy: () => void navigator.clipboard.writeText(terminal?.getSelection() ?? ''),
    copyAll: () =>
      void navigator.clipboard
        .writeText(terminal ? terminalText(terminal) : '')
        .then(() => toastDone('Copied the text of the console')),
    paste: () => void navigator.clipboard.readText().then(pasted),
    readAsText: () => setSheet('text'),
    saveLog: () => setSheet('log'),
    readLog: () => setSheet('read-log'),
    send: (text) => console?.type(text),
    fit: () => {
      if (console && mayFit.has(console.key) && isPromptLike(cursorLine(console.terminal))) fitted(console)
      else setSheet('fit')
    },
    reset: () => {
      console?.escapes.reset()
      terminal?.write(RESET_VIEW)
    },
    reconnect: () => {
      if (state?.link === 'closed') console?.session.reopen()
      else console?.session.reconnect()
    },
    toggleTab: () => setTabLeaves((on) => !on),
    toggleClipboard: () => {
      if (console) console.policy.clipboardWrites = !clipboardWrites
      setClipboardWrites((on) => !on)
    },
    ...(target.kind === 'console' ? { openShell: () => openShell({ kind: 'vm', id: target.vmId }) } : {}),
    ...(workspace ? { workspace } : {}),
  }
  return { acts, sheet, setSheet, menu, setMenu, pasted }
}
