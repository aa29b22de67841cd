import { AlertTriangle, CheckCircle2, XCircle } from 'lucide-react'
import { useState } from 'react'
import { plural } from '../../lib/format.ts'
import { Button, buttonClass } from '../../ui/button.tsx'
import { Card } from '../../ui/page.tsx'
import { TONE_TEXT } from '../../ui/state-word.tsx'
import type { Need } from './need.ts'
import { NeedButton } from './need-button.tsx'
import { CAUSES, groupName, groupNames, isGroup, linesOf, type NeedLine } from './needs-you.ts'

const SHOWN = 5

/** What needs a person, the most pressing first; each line has exactly one button. */
export function NeedsList({ needs }: { needs: readonly Need[] }) {
  const [all, setAll] = useState(false)
  const lines = linesOf(needs)
  const shown = all ? lines : lines.slice(0, SHOWN)
  const hidden = lines.length - shown.length
  return (
    <Card title="Needs you">
      {lines.length === 0 ? (
        <p className="flex items-center gap-2 text-dim">
          <CheckCircle2 size={15} aria-hidden className="shrink-0 text-good" />
          Nothing. What comes up is listed here, the most pressing first.
        </p>
      ) : (
        <ul className="-my-1.5">
          {shown.map((line) => (
            <Line key={line.key} line={line} />
          ))}
        </ul>
      )}
      {(hidden > 0 || all) && lines.length > SHOWN && (
        <Button look="quiet" size="small" className="mt-3" aria-expanded={all} onClick={() => setAll(!all)}>
          {all ? 'Show fewer' : `Show ${plural(hidden, 'more', 'more')}`}
        </Button>
      )}
    </Card>
  )
}

function Line({ line }: { line: NeedLine }) {
  const { tone, what, label, all } = CAUSES[line.cause]
  const Icon = tone === 'bad' ? XCircle : AlertTriangle
  const group = isGroup(line)
  const name = group ? groupName(line) : line.object.name
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-1 border-line border-b py-2 last:border-b-0">
      <Icon size={15} aria-hidden className={`shrink-0 ${TONE_TEXT[tone]}`} />
      <p className="min-w-28 flex-1 break-words">
        <a href={group ? all : line.object.href} className="font-medium hover:underline">
          {name}
        </a>{' '}
        {group ? manyWords(what) : what}
        <span className="block text-dim text-xs leading-5">{group ? groupNames(line) : line.more}</span>
      </p>
      {group ? (
        <a href={all} aria-label={`Show all: ${name} ${what}`} className={buttonClass('plain', 'small')}>
          Show all
        </a>
      ) : (
        <NeedButton label={label} about={`${name} ${what}`} act={line.act} />
      )}
    </li>
  )
}

/** `does not answer` of one is `do not answer` of many. */
function manyWords(what: string): string {
  const words: [RegExp, string][] = [
    [/^does\b/, 'do'],
    [/^is\b/, 'are'],
    [/^has\b/, 'have'],
    [/^(waits|needs|runs|keeps|lacks|answers|stops)\b/, ''],
  ]
  for (const [pattern, many] of words)
    if (pattern.test(what)) return what.replace(pattern, (one) => many || one.slice(0, -1))
  return what
}
