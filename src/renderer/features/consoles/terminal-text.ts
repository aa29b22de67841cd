import type { Terminal } from '@xterm/xterm'

type Read = Pick<Terminal, 'buffer'>

/** Everything kept, as plain lines: what the terminal wrapped is put together again. */
export function terminalLines(terminal: Read): string[] {
  const buffer = terminal.buffer.active
  const lines: string[] = []
  for (let i = 0; i < buffer.length; i++) {
    const line = buffer.getLine(i)
    if (!line) continue
    const text = line.translateToString(true)
    if (line.isWrapped && lines.length > 0) lines[lines.length - 1] += text
    else lines.push(text)
  }
  while (lines.length > 0 && lines.at(-1)!.trim() === '') lines.pop()
  return lines
}

export const terminalText = (terminal: Read): string => terminalLines(terminal).join('\n')

/** The line with the cursor, up to the cursor. */
export function cursorLine({ buffer: { active } }: Read): string {
  return active.getLine(active.baseY + active.cursorY)?.translateToString(true, 0, active.cursorX) ?? ''
}

/** Whether a line looks like a shell that waits for a command: `root@web:~# `, `$ `. */
export const isPromptLike = (line: string): boolean => /(^|[^#$%>])[#$%>❯] ?$/.test(line) && line.trim().length <= 120

/** Whether a shell or a login stands in what a full-screen program was shown in: the program is gone and left its screen. */
export const isLeftScreen = (terminal: Read): boolean => {
  if (terminal.buffer.active.type !== 'alternate') return false
  const line = cursorLine(terminal)
  return isPromptLike(line) || /login: ?$/.test(line)
}
