import { FitAddon } from '@xterm/addon-fit'
import { SearchAddon } from '@xterm/addon-search'
import { Unicode11Addon } from '@xterm/addon-unicode11'
import { WebLinksAddon } from '@xterm/addon-web-links'
import { WebglAddon } from '@xterm/addon-webgl'
import { type ITheme, Terminal } from '@xterm/xterm'

const SCROLLBACK_LINES = 10_000

const THEME: ITheme = {
  background: '#10141a',
  foreground: '#d7dce3',
  cursor: '#f0935a',
  cursorAccent: '#10141a',
  selectionBackground: '#3b5c9a',
  black: '#2a313b',
  red: '#f07178',
  green: '#7fc98f',
  yellow: '#e8b04a',
  blue: '#7aa2f7',
  magenta: '#c099ff',
  cyan: '#6cc9d8',
  white: '#cdd3dc',
  brightBlack: '#76808f',
  brightRed: '#ff8b92',
  brightGreen: '#9be3aa',
  brightYellow: '#ffce73',
  brightBlue: '#9cbcff',
  brightMagenta: '#d6b8ff',
  brightCyan: '#8fe3f0',
  brightWhite: '#ffffff',
}

const NO_CURSOR: ITheme = { ...THEME, cursor: '#10141a', cursorAccent: '#d7dce3' }

export interface ConsoleTerminal {
  terminal: Terminal
  search: SearchAddon
  /** Where xterm lives; moved between screens with its text. */
  host: HTMLElement
  /** Makes it as large as its place. */
  fit: () => void
  /** Without one nothing looks as if it could be typed into. */
  showCursor: (shown: boolean) => void
  dispose: () => void
}

/** The host element carries its terminal as `eitriTerminal`, for tests that read its buffer. */
export type TerminalHost = HTMLElement & { eitriTerminal?: Terminal }

export function createConsoleTerminal(screenReaderMode: boolean): ConsoleTerminal {
  const terminal = new Terminal({
    allowProposedApi: true,
    cursorBlink: false,
    fontFamily: getComputedStyle(document.documentElement).getPropertyValue('--font-mono') || 'monospace',
    fontSize: 13,
    lineHeight: 1.15,
    minimumContrastRatio: 4.5,
    screenReaderMode,
    scrollback: SCROLLBACK_LINES,
    theme: THEME,
    linkHandler: { activate: (_event, uri) => openLink(uri), allowNonHttpProtocols: false },
  })
  const fit = new FitAddon()
  const search = new SearchAddon()
  terminal.loadAddon(fit)
  terminal.loadAddon(search)
  terminal.loadAddon(new WebLinksAddon((_event, uri) => openLink(uri)))
  terminal.loadAddon(new Unicode11Addon())
  terminal.unicode.activeVersion = '11'
  // The guest may neither read nor write the clipboard.
  terminal.parser.registerOscHandler(52, () => true)
  const host: TerminalHost = document.createElement('div')
  host.className = 'h-full w-full'
  host.eitriTerminal = terminal
  let opened = false
  return {
    terminal,
    search,
    host,
    fit: () => {
      if (!host.isConnected) return
      if (!opened) {
        terminal.open(host)
        drawByGpu(terminal)
        opened = true
      }
      fit.fit()
    },
    showCursor: (shown) => {
      terminal.options.theme = shown ? THEME : NO_CURSOR
    },
    dispose: () => terminal.dispose(),
  }
}

/** A person meant it: only web addresses, in a window of its own. */
function openLink(uri: string): void {
  if (/^https?:\/\//.test(uri)) open(uri, '_blank', 'noopener,noreferrer')
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

function hasGpu(): boolean {
  const gl = document.createElement('canvas').getContext('webgl2')
  const info = gl?.getExtension('WEBGL_debug_renderer_info')
  if (!gl || !info) return false
  const renderer = String(gl.getParameter(info.UNMASKED_RENDERER_WEBGL))
  gl.getExtension('WEBGL_lose_context')?.loseContext()
  return !/SwiftShader|llvmpipe|Basic Render|softpipe/i.test(renderer)
}

/** Everything kept, as plain text: lines the terminal wrapped are put together again. */
export function terminalText(terminal: Terminal): string {
  const buffer = terminal.buffer.active
  const lines: string[] = []
  for (let i = 0; i < buffer.length; i++) {
    const line = buffer.getLine(i)
    if (!line) continue
    const text = line.translateToString(true)
    if (line.isWrapped && lines.length > 0) lines[lines.length - 1] += text
    else lines.push(text)
  }
  return lines.join('\n').trimEnd()
}
