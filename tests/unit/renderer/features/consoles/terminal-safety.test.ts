import { Terminal } from '@xterm/headless'
import { describe, expect, it } from 'vitest'
import { EscapeWatch } from '../../../../../src/renderer/features/consoles/escape-watch.ts'
import { LineTimes } from '../../../../../src/renderer/features/consoles/line-times.ts'
import { installOscPolicy, isWebAddress, shownTitle } from '../../../../../src/renderer/features/consoles/osc-policy.ts'
import { RESET_VIEW } from '../../../../../src/renderer/features/consoles/terminal-modes.ts'
import {
  cursorLine,
  isLeftScreen,
  isPromptLike,
  terminalLines,
} from '../../../../../src/renderer/features/consoles/terminal-text.ts'
import { stuckWhy } from '../../../../../src/renderer/features/consoles/view-model.ts'

/** A terminal as ours are made, without a screen. */
function aTerminal(clipboardWrites = false) {
  const terminal = new Terminal({ allowProposedApi: true, cols: 40, rows: 10 })
  const answers: string[] = []
  const copied: string[] = []
  terminal.onData((text) => answers.push(text))
  installOscPolicy(terminal.parser, { clipboardWrites }, (text) => copied.push(text))
  const write = (text: string | Uint8Array) => new Promise<void>((resolve) => terminal.write(text, resolve))
  return { terminal, answers, copied, write }
}
const base64 = (text: string) => Buffer.from(text).toString('base64')

describe('what a guest may ask by escape sequences', () => {
  it('OSC 52: the clipboard is never read, switched on or not', async () => {
    for (const on of [false, true]) {
      const { write, answers, copied } = aTerminal(on)
      await write('\x1b]52;c;?\x07\x1b]52;p;?\x1b\\')
      expect([answers, copied]).toEqual([[], []])
    }
  })

  it('OSC 52: it is written only where that is switched on', async () => {
    const off = aTerminal()
    await off.write(`\x1b]52;c;${base64('secret')}\x07`)
    expect(off.copied).toEqual([])
    const on = aTerminal(true)
    await on.write(`\x1b]52;c;${base64('größe')}\x07\x1b]52;c;%%%\x07\x1b]52;c;/w==\x07`)
    expect(on.copied).toEqual(['größe'])
  })

  it.each([
    ['CSI 21 t, the title of the window', '\x1b[21t'],
    ['CSI 20 t, the title of its icon', '\x1b[20t'],
    ['CSI 14 t, its size in pixels', '\x1b[14t'],
  ])('%s is not told', async (_, query) => {
    const { write, answers } = aTerminal()
    await write(`\x1b]0;rm -rf /\x07${query}`)
    expect(answers).toEqual([])
  })

  it.each([
    ['https://debian.org/', true],
    ['http://10.0.0.1:8080/x', true],
    ['file:///etc/passwd', false],
    ['javascript:alert(1)', false],
    ['ssh://web', false],
    ['eitri://vm/1', false],
    ['http', false],
  ])('OSC 8: a link to %s may be followed: %s', (uri, may) => expect(isWebAddress(uri)).toBe(may))

  it('OSC 0 and 2: a title is one short line of visible characters', () => {
    expect(shownTitle('web\n\u202egnp.exe\x07')).toBe('webgnp.exe')
    expect(shownTitle('x'.repeat(200))).toHaveLength(60)
  })
})

describe('a view that shows nothing more', () => {
  const watch = (text: string, at = 5) => {
    const escapes = new EscapeWatch()
    escapes.take(Buffer.from(text), at)
    return escapes
  }

  it.each(['\x1b]0;title', '\x1bPq', '\x1b_x', '\x1b^x', '\x1bXx', '\x1b]0;a\x07\x1b]8;;x'])(
    '%j is a string nobody ended',
    (text) => expect(watch(text).openSinceMs).toBe(5),
  )

  it.each(['plain', '\x1b]0;t\x07', '\x1b]0;t\x1b\\', '\x1bPq\x18', '\x1b[31mred', '\x1b]0;t\x1b[m', '\x1b\x1b[A'])(
    '%j leaves none open',
    (text) => expect(watch(text).openSinceMs).toBeUndefined(),
  )

  it('a string may come in pieces', () => {
    const escapes = watch('\x1b')
    escapes.take(Buffer.from(']52;c'), 7)
    expect(escapes.openSinceMs).toBe(7)
    escapes.take(Buffer.from(';\x1b'), 8)
    escapes.take(Buffer.from('\\'), 9)
    expect(escapes.openSinceMs).toBeUndefined()
  })

  it('is said after two seconds, and not before', () => {
    expect(stuckWhy(1000, undefined, 2999)).toBe('')
    expect(stuckWhy(1000, undefined, 3000)).toContain('never ended')
    expect(stuckWhy(undefined, 1000, 3000)).toContain('full-screen')
  })

  it('shows text again once it is reset, the old text too, and the guest hears nothing', async () => {
    const { terminal, write, answers } = aTerminal()
    await write('before\r\n\x1b[?1049h\x1b]0;never ended')
    await write('lost')
    await write(RESET_VIEW)
    await write('after')
    const lines = terminalLines(terminal as never)
    expect([lines[0], lines.at(-1)]).toEqual(['before', 'after'])
    expect(answers).toEqual([])
  })

  it('knows a prompt in what a full-screen program left', async () => {
    const { terminal, write } = aTerminal()
    await write('\x1b[?1049h~\r\n~')
    expect(isLeftScreen(terminal as never)).toBe(false)
    await write('\r\nroot@web:~# ')
    expect(isLeftScreen(terminal as never)).toBe(true)
  })
})

describe('a line that waits for a command', () => {
  it.each(['$ ', '# ', 'root@web:~# ', 'ada@web:/srv$ ', 'web% ', '~ ❯ '])('%j looks so', (line) =>
    expect(isPromptLike(line)).toBe(true),
  )
  it.each(['', 'web login: ', 'Password: ', '100%% ', '## ', 'root@web:~# ls'])('%j does not', (line) =>
    expect(isPromptLike(line)).toBe(false),
  )
  it('is read up to the cursor', async () => {
    const { terminal, write } = aTerminal()
    await write('one\r\nroot@web:~# ')
    expect(cursorLine(terminal as never)).toBe('root@web:~# ')
  })
})

describe('times of lines', () => {
  it('lines of the past have none, those seen to come have theirs', async () => {
    const { terminal, write } = aTerminal()
    const times = new LineTimes(terminal)
    times.mark(undefined)
    await write('past\r\n')
    times.mark(5_000)
    await write('one\r\ntwo\r\n')
    times.mark(5_400)
    await write('three\r\n')
    times.mark(7_000)
    await write('four')
    expect([0, 1, 2, 3, 4].map((line) => times.of(line))).toEqual(['before', 5_000, 5_000, 5_000, 7_000])
  })

  it('stay with their lines when others are trimmed', async () => {
    const terminal = new Terminal({ allowProposedApi: true, cols: 20, rows: 5, scrollback: 5 })
    const write = (text: string) => new Promise<void>((resolve) => terminal.write(text, resolve))
    const times = new LineTimes(terminal)
    times.mark(1_000)
    await write('a\r\n'.repeat(8))
    times.mark(9_000)
    await write('b\r\n'.repeat(6))
    const buffer = terminal.buffer.active
    const at = (i: number) => [buffer.getLine(i)?.translateToString(true), times.of(i)]
    expect(at(0)[0]).toBe('a')
    expect(at(buffer.baseY + buffer.cursorY - 1)).toEqual(['b', 9_000])
  })
})
