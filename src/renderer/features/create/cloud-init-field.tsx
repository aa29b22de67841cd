import { type KeyboardEvent, type Ref, useId, useRef } from 'react'
import type { Edit, Finding } from '../../../ipc/cloud-init/finding.ts'
import { cx } from '../../lib/class-names.ts'
import { formatBytes } from '../../lib/format.ts'
import { inputClass } from '../../ui/field.tsx'
import { CloudInitFindings } from './cloud-init-findings.tsx'
import { findingsSummary, inOrder, lineRange, nextFinding } from './cloud-init-text.ts'
import type { Findings } from './use-findings.ts'

const LEAST_ROWS = 7
const MOST_ROWS = 16

interface CloudInitFieldProps {
  value: string
  findings: Findings
  onChange: (value: string) => void
}

/** User-data with its lines numbered, and what a guest would make of it underneath. */
export function CloudInitField({ value, findings, onChange }: CloudInitFieldProps) {
  const id = useId()
  const area = useRef<HTMLTextAreaElement>(null)
  const gutter = useRef<HTMLDivElement>(null)
  const found = value === '' ? [] : findings.found
  const refused = found.some((finding) => finding.severity === 'error')
  const jump = ({ line, column }: Finding) => {
    const text = area.current
    if (!text) return
    const { start, end } = lineRange(text.value, line)
    text.focus()
    text.setSelectionRange(Math.min(start + (column ?? 1) - 1, end), end)
    text.scrollTop = Math.max(0, (line - 3) * Number.parseFloat(getComputedStyle(text).lineHeight))
    text.scrollLeft = 0
  }
  const apply = (finding: Finding) => {
    const text = area.current
    if (!text || findings.of !== text.value) return
    for (const edit of inOrder(finding.edits ?? [])) makeEdit(text, edit)
    text.setSelectionRange(lineRange(text.value, finding.line).end, lineRange(text.value, finding.line).end)
  }
  const onKeyDown = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    if (event.key !== 'F8') return
    event.preventDefault()
    const { value: text, selectionStart } = event.currentTarget
    const next = nextFinding(found, text.slice(0, selectionStart).split('\n').length, event.shiftKey)
    if (next) jump(next)
  }
  return (
    <div className="min-w-0">
      <label htmlFor={id} className="mb-1 block font-medium text-dim text-xs">
        cloud-init user-data
      </label>
      <div className="relative">
        <LineNumbers ref={gutter} value={value} found={found} />
        <textarea
          id={id}
          ref={area}
          rows={Math.min(Math.max(value.split('\n').length, LEAST_ROWS), MOST_ROWS)}
          wrap="off"
          spellCheck={false}
          autoComplete="off"
          autoCapitalize="off"
          value={value}
          placeholder={'#cloud-config\npackages:\n  - nginx'}
          aria-describedby={`${id}-note`}
          {...(refused ? { 'aria-invalid': true as const } : {})}
          className={cx(inputClass, 'block resize-y py-1.5 pl-12 font-mono text-xs leading-5')}
          onChange={(e) => onChange(e.target.value)}
          onKeyDown={onKeyDown}
          onScroll={(e) =>
            gutter.current?.style.setProperty('transform', `translateY(${-e.currentTarget.scrollTop}px)`)
          }
        />
      </div>
      <p
        id={`${id}-note`}
        role="status"
        className={cx('mt-1 min-h-4 text-xs leading-4', refused ? 'text-bad' : 'text-faint')}
      >
        {found.length > 0 && `${findingsSummary(found)}. `}
        {refused ? 'The VM can be created once the errors are mended.' : noteOf(value)}
      </p>
      {found.length > 0 && (
        <CloudInitFindings found={found} current={findings.of === value} onJump={jump} onApply={apply} />
      )}
    </div>
  )
}

const noteOf = (value: string): string =>
  value === ''
    ? 'Given to the guest byte for byte, never rewritten.'
    : `${formatBytes(new TextEncoder().encode(value).length)} of at most 64 KB, given to the guest byte for byte.`

/** Through the browser's own editing, so that undo takes it back. */
function makeEdit(area: HTMLTextAreaElement, { start, end, text }: Edit): void {
  area.focus()
  area.setSelectionRange(start, end)
  const done = text === '' ? document.execCommand('delete') : document.execCommand('insertText', false, text)
  if (done) return
  area.setRangeText(text, start, end, 'end')
  area.dispatchEvent(new Event('input', { bubbles: true }))
}

const MARK = { error: 'bg-bad', warning: 'bg-warn', info: 'bg-info' }
const LINE_REM = 1.25

/** One text for all numbers: a document may have thousands of lines. */
function LineNumbers({ ref, value, found }: { ref: Ref<HTMLDivElement>; value: string; found: readonly Finding[] }) {
  const lines = value.split('\n').length
  const rank = ['info', 'warning', 'error']
  const marks = found.toSorted((a, b) => rank.indexOf(a.severity) - rank.indexOf(b.severity))
  return (
    <div
      aria-hidden
      className="pointer-events-none absolute inset-y-px left-px w-10 overflow-hidden rounded-l-md border-line border-r bg-bg font-mono text-faint text-xs leading-5"
    >
      <div ref={ref} className="relative py-1.5">
        <div className="whitespace-pre pr-2 text-right">
          {Array.from({ length: lines }, (_, i) => i + 1).join('\n')}
        </div>
        {marks.map(({ line, column, rule, severity }) => (
          <span
            key={`${line}:${column} ${rule}`}
            className={cx('absolute left-0 h-5 w-1', MARK[severity])}
            style={{ top: `${(line - 1) * LINE_REM + 0.375}rem` }}
          />
        ))}
      </div>
    </div>
  )
}
