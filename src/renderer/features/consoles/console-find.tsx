import type { SearchAddon } from '@xterm/addon-search'
import { ChevronDown, ChevronUp, X } from 'lucide-react'
import { useEffect, useState } from 'react'
import { IconButton } from '../../ui/button.tsx'

const DECORATIONS = {
  matchBackground: '#5b4a12',
  activeMatchBackground: '#b0791a',
  matchOverviewRuler: '#b0791a',
  activeMatchColorOverviewRuler: '#f0935a',
}

export function ConsoleFind({ search, onClose }: { search: SearchAddon; onClose: () => void }) {
  const [text, setText] = useState('')
  const [found, setFound] = useState<{ at: number; of: number }>()
  useEffect(() => {
    const told = search.onDidChangeResults(({ resultIndex, resultCount }) =>
      setFound({ at: resultIndex + 1, of: resultCount }),
    )
    return () => {
      told.dispose()
      search.clearDecorations()
    }
  }, [search])
  const next = () => search.findNext(text, { decorations: DECORATIONS })
  const previous = () => search.findPrevious(text, { decorations: DECORATIONS })
  return (
    <search className="flex h-10 shrink-0 items-center gap-1 border-line border-b px-3">
      <input
        // biome-ignore lint/a11y/noAutofocus: opened by a key, to be typed into
        autoFocus
        aria-label="Find in the console"
        placeholder="Find"
        value={text}
        className="h-7 w-64 rounded-md border border-line-strong bg-panel px-2 outline-none focus:border-accent"
        onChange={(e) => {
          setText(e.target.value)
          search.findNext(e.target.value, { incremental: true, decorations: DECORATIONS })
        }}
        onKeyDown={(e) => {
          if (e.key === 'Enter') (e.shiftKey ? previous : next)()
          if (e.key === 'Escape') onClose()
        }}
      />
      <span role="status" className="mx-2 min-w-16 text-faint text-xs">
        {text === '' || !found ? '' : found.of === 0 ? 'Not found' : `${found.at} of ${found.of}`}
      </span>
      <IconButton label="Previous match" onClick={previous}>
        <ChevronUp size={15} aria-hidden />
      </IconButton>
      <IconButton label="Next match" onClick={next}>
        <ChevronDown size={15} aria-hidden />
      </IconButton>
      <IconButton label="Close find" onClick={onClose}>
        <X size={15} aria-hidden />
      </IconButton>
    </search>
  )
}
