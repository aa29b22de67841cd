import { useEffect, useState } from 'react'
import { formatTime } from '../../lib/format.ts'
import type { OpenConsole } from './open-consoles.ts'

/** When each line on the screen arrived. A time stands once for the lines that share it. */
export function TimeGutter({ console }: { console: OpenConsole }) {
  const [rows, setRows] = useState<{ height: number; top: number; times: string[] }>()
  useEffect(() => {
    const { terminal, host } = console
    let frame = 0
    const draw = () => {
      frame = 0
      const screen = host.querySelector<HTMLElement>('.xterm-screen')
      if (!screen) return
      const top = screen.getBoundingClientRect().top - host.getBoundingClientRect().top
      setRows({ height: screen.clientHeight / terminal.rows, top, times: timesOnScreen(console) })
    }
    const soon = () => {
      if (frame === 0) frame = requestAnimationFrame(draw)
    }
    const told = [terminal.onRender(soon), terminal.onScroll(soon), terminal.onResize(soon)]
    soon()
    return () => {
      cancelAnimationFrame(frame)
      for (const each of told) each.dispose()
    }
  }, [console])
  return (
    <ol
      aria-label="When each line arrived"
      className="h-full w-[68px] shrink-0 select-none overflow-hidden border-line border-r bg-bg text-right font-mono text-[11px] text-faint tabular-nums"
      style={{ paddingTop: rows?.top }}
    >
      {rows?.times.map((time, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a row of the screen is its place
        <li key={i} className="overflow-hidden pr-1.5" style={{ height: rows.height, lineHeight: `${rows.height}px` }}>
          {time}
        </li>
      ))}
    </ol>
  )
}

function timesOnScreen({ terminal, times }: OpenConsole): string[] {
  const buffer = terminal.buffer.active
  if (buffer.type === 'alternate') return []
  const now = new Date()
  let shown: string | undefined
  return Array.from({ length: terminal.rows }, (_, row) => {
    const line = buffer.viewportY + row
    if (line > buffer.baseY + buffer.cursorY || buffer.getLine(line)?.isWrapped) return ''
    const at = times.of(line)
    const text = at === undefined ? '' : at === 'before' ? 'before' : formatTime(new Date(at), now).slice(-8)
    if (text === shown) return ''
    shown = text
    return text
  })
}
