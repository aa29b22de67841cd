import type { ITheme } from '@xterm/xterm'
import type { TerminalPreferences } from '../../state/preference-shape.ts'

const DARK: ITheme = {
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

const LIGHT: ITheme = {
  background: '#fbfbfa',
  foreground: '#23282f',
  cursor: '#c65a1e',
  cursorAccent: '#fbfbfa',
  selectionBackground: '#b9cdf5',
  black: '#23282f',
  red: '#b4231c',
  green: '#12703c',
  yellow: '#8a5200',
  blue: '#1d5bbf',
  magenta: '#7b3fa8',
  cyan: '#0b6b7d',
  white: '#5b6472',
  brightBlack: '#626b79',
  brightRed: '#9a1c16',
  brightGreen: '#0f5f33',
  brightYellow: '#734400',
  brightBlue: '#174a9c',
  brightMagenta: '#65328c',
  brightCyan: '#085765',
  brightWhite: '#23282f',
}

const HIGH_CONTRAST: ITheme = {
  ...DARK,
  background: '#000000',
  foreground: '#ffffff',
  cursor: '#ffff00',
  cursorAccent: '#000000',
  selectionBackground: '#0050ff',
  brightBlack: '#b0b0b0',
}

export const terminalTheme = (theme: TerminalPreferences['theme'], appIsDark: boolean): ITheme => {
  switch (theme) {
    case 'light':
      return LIGHT
    case 'high-contrast':
      return HIGH_CONTRAST
    case 'app':
      return appIsDark ? DARK : LIGHT
    case 'dark':
      return DARK
  }
}

/** Where nothing can be typed nothing looks as if it could be. */
export const withoutCursor = (theme: ITheme): ITheme => ({
  ...theme,
  ...(theme.background ? { cursor: theme.background } : {}),
  ...(theme.foreground ? { cursorAccent: theme.foreground } : {}),
})
