import { FitAddon } from '@xterm/addon-fit'
import { SearchAddon } from '@xterm/addon-search'
import { Unicode11Addon } from '@xterm/addon-unicode11'
import { WebLinksAddon } from '@xterm/addon-web-links'
import { WebglAddon } from '@xterm/addon-webgl'
import { type ITerminalOptions, Terminal } from '@xterm/xterm'
import { usePreferences } from '../../state/preferences.ts'
import { isReadingAloud } from '../../state/screen-reader.ts'
import { installOscPolicy, isWebAddress, type OscPolicy } from './osc-policy.ts'
import { terminalTheme, withoutCursor } from './terminal-theme.ts'

export interface ConsoleTerminal {
  terminal: Terminal
  search: SearchAddon
  policy: OscPolicy
  /** Where xterm lives; moved between screens with its text. */
  host: HTMLElement
  /** Makes it as large as its place. */
  fit: () => void
  /** Takes the preferences over. Without a cursor nothing looks as if it could be typed into. */
  dress: (look: { cursor: boolean }) => void
  dispose: () => void
}

/** The host element carries its terminal as `eitriTerminal`, for tests that read its buffer. */
export type TerminalHost = HTMLElement & { eitriTerminal?: Terminal }

interface TerminalEvents {
  /** A guest that may has put text on the clipboard. */
  onClipboard: (text: string) => void
  /** The address under the pointer; empty = none. */
  onLink: (uri: string) => void
}

export function createConsoleTerminal({ onClipboard, onLink }: TerminalEvents): ConsoleTerminal {
  const hover = { hover: (_event: MouseEvent, uri: string) => onLink(uri), leave: () => onLink('') }
  const terminal = new Terminal({
    allowProposedApi: true,
    cursorBlink: false,
    lineHeight: 1.15,
    ...looks(true),
    // Where it leads is shown before it is followed.
    linkHandler: { activate: (_event, uri) => openLink(uri), allowNonHttpProtocols: false, ...hover },
  })
  const fit = new FitAddon()
  const search = new SearchAddon()
  const policy: OscPolicy = { clipboardWrites: false }
  terminal.loadAddon(fit)
  terminal.loadAddon(search)
  terminal.loadAddon(new WebLinksAddon((_event, uri) => openLink(uri), hover))
  terminal.loadAddon(new Unicode11Addon())
  terminal.unicode.activeVersion = '11'
  installOscPolicy(terminal.parser, policy, onClipboard)
  const host: TerminalHost = document.createElement('div')
  host.className = 'h-full w-full'
  host.eitriTerminal = terminal
  let opened = false
  return {
    terminal,
    search,
    policy,
    host,
    fit: () => {
      if (!host.isConnected || host.clientWidth === 0) return
      if (!opened) {
        terminal.open(host)
        drawByGpu(terminal)
        opened = true
      }
      fit.fit()
    },
    dress: ({ cursor }) => {
      Object.assign(terminal.options, looks(cursor))
      fit.fit()
    },
    dispose: () => terminal.dispose(),
  }
}

/** What of a terminal the person decides. */
function looks(cursor: boolean): ITerminalOptions {
  const { terminal } = usePreferences.getState()
  const root = document.documentElement
  const theme = terminalTheme(terminal.theme, root.classList.contains('dark'))
  const mono = getComputedStyle(root).getPropertyValue('--font-mono') || 'monospace'
  return {
    fontFamily: terminal.fontFamily === '' ? mono : `${terminal.fontFamily}, ${mono}`,
    fontSize: terminal.fontSize,
    minimumContrastRatio: terminal.minimumContrast,
    scrollback: terminal.scrollback,
    screenReaderMode: isReadingAloud(),
    theme: cursor ? theme : withoutCursor(theme),
  }
}

/** A person meant it: only web addresses, in a window of its own. */
function openLink(uri: string): void {
  if (isWebAddress(uri)) open(uri, '_blank', 'noopener,noreferrer')
}

/** WebGL only where it is drawn by hardware: in software the DOM renderer is several times faster. */
function drawByGpu(terminal: Terminal): void {
  if (!hasGpu()) return
  try {
    const webgl = new WebglAddon()
    webgl.onContextLoss(() => webgl.dispose())
    terminal.loadAddon(webgl)
  } catch {
    // The DOM renderer stays.
  }
}

let gpu: boolean | undefined
function hasGpu(): boolean {
  gpu ??= isDrawnByHardware()
  return gpu
}

function isDrawnByHardware(): boolean {
  const gl = document.createElement('canvas').getContext('webgl2')
  const info = gl?.getExtension('WEBGL_debug_renderer_info')
  if (!gl || !info) return false
  const renderer = String(gl.getParameter(info.UNMASKED_RENDERER_WEBGL))
  gl.getExtension('WEBGL_lose_context')?.loseContext()
  return !/SwiftShader|llvmpipe|Basic Render|softpipe/i.test(renderer)
}
