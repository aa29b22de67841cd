import { FilePlus2, FileUp, Redo2, Undo2 } from 'lucide-react'
import { lazy, Suspense, useId, useRef, useState } from 'react'
import type { Edit, Finding } from '../../../ipc/cloud-init/finding.ts'
import { LIMITS } from '../../../ipc/units.ts'
import { cx } from '../../lib/class-names.ts'
import { Button, IconButton } from '../../ui/button.tsx'
import { ViewToggle } from '../../ui/view-toggle.tsx'
import { CloudInitFindings } from './cloud-init-findings.tsx'
import { CloudInitForm } from './cloud-init-form.tsx'
import { findingsSummary, inOrder } from './cloud-init-text.ts'
import type { EditorHandle } from './code-editor.tsx'
import { edited } from './form-patch.ts'
import { readForm } from './form-view.ts'
import type { Findings } from './use-findings.ts'

const CodeEditor = lazy(() => import('./code-editor.tsx').then((m) => ({ default: m.CodeEditor })))
const EMPTY = 'Nothing is written here. Write a #cloud-config or a script, load a file, or insert the example.'
const EXAMPLE = '#cloud-config\npackages:\n  - nginx\n'
const VIEWS = [
  { id: 'yaml', label: 'YAML' },
  { id: 'form', label: 'Form' },
] as const

interface CloudInitPartProps {
  value: string
  findings: Findings
  onChange: (value: string) => void
}

/** User-data in two views over one text: as it is written, and as a form that changes only its own lines. */
export function CloudInitPart({ value, findings, onChange }: CloudInitPartProps) {
  const [view, setView] = useState<'yaml' | 'form'>('yaml')
  const [loadProblem, setLoadProblem] = useState('')
  const editor = useRef<EditorHandle>(null)
  const note = useId()
  const found = value === '' ? [] : findings.found
  const refused = found.some(({ severity }) => severity === 'error')
  /** Through the editor, so that undo knows it; without one the text alone. */
  const change = (edits: readonly Edit[], undo: 'alone' | 'typed') => {
    if (editor.current) editor.current.change(edits, undo)
    else onChange(inOrder(edits).reduce(edited, value))
  }
  const jump = ({ line, column }: Pick<Finding, 'line' | 'column'>) => {
    setView('yaml')
    requestAnimationFrame(() => editor.current?.jump(line, column))
  }
  return (
    <div className="min-w-0">
      <div className="mb-2 flex flex-wrap items-center gap-2">
        <ViewToggle label="View of the user-data" views={VIEWS} value={view} onView={setView} />
        <LoadFile onText={onChange} onProblem={setLoadProblem} />
        {value === '' && (
          <Button
            look="quiet"
            title="A #cloud-config that installs nginx"
            onClick={() => change([{ start: 0, end: 0, text: EXAMPLE }], 'alone')}
          >
            <FilePlus2 size={14} aria-hidden />
            Insert an example
          </Button>
        )}
        <IconButton label="Undo in the user-data" onClick={() => editor.current?.undo()}>
          <Undo2 size={15} aria-hidden />
        </IconButton>
        <IconButton label="Redo in the user-data" onClick={() => editor.current?.redo()}>
          <Redo2 size={15} aria-hidden />
        </IconButton>
        <p id={note} role="status" className={cx('ml-auto text-xs', refused ? 'text-bad' : 'text-faint')}>
          {found.length > 0 ? `${findingsSummary(found)}. ` : ''}
          {refused
            ? 'The VM can be created once the errors are mended.'
            : found.length === 0 && value !== ''
              ? 'No problems found.'
              : ''}
        </p>
      </div>
      {loadProblem && (
        <p role="alert" className="mb-2 text-bad text-xs">
          {loadProblem}
        </p>
      )}
      <div className={view === 'form' ? 'hidden' : undefined}>
        <Suspense fallback={<EditorWait />}>
          <CodeEditor
            ref={editor}
            label="cloud-init user-data"
            describedBy={note}
            placeholder={EMPTY}
            value={value}
            findings={findings}
            onChange={onChange}
          />
        </Suspense>
        <p className="mt-1 text-faint text-xs">
          Tab indents; Esc, then Tab, leaves the editor. F8 goes to the next finding. Given to the guest byte for byte.
        </p>
      </div>
      {view === 'form' && (
        <FormView value={value} onEdit={(edit) => change([edit], 'typed')} onJump={(line) => jump({ line })} />
      )}
      {found.length > 0 && (
        <CloudInitFindings
          found={found}
          current={findings.of === value}
          onJump={jump}
          onApply={({ edits }) => edits && change(edits, 'alone')}
        />
      )}
    </div>
  )
}

function FormView({
  value,
  onEdit,
  onJump,
}: {
  value: string
  onEdit: (edit: Edit) => void
  onJump: (line: number) => void
}) {
  const reading = readForm(value)
  if ('view' in reading) return <CloudInitForm view={reading.view} text={value} onEdit={onEdit} onJump={onJump} />
  return (
    <div role="note" className="rounded-md border border-warn/40 bg-warn/6 p-3">
      <p className="font-medium">The form cannot express this text, and leaves it as it is.</p>
      <ul className="mt-1 grid gap-1">
        {reading.refused.map(({ line, why }) => (
          <li key={`${line} ${why}`} className="text-dim">
            <button type="button" className="min-h-6 text-accent underline" onClick={() => onJump(line)}>
              Line {line}
            </button>
            : {why}
          </li>
        ))}
      </ul>
    </div>
  )
}

const EditorWait = () => (
  <div
    role="status"
    className="flex h-40 items-center justify-center rounded-md border border-line-strong/70 text-faint"
  >
    Loading the editor…
  </div>
)

/** Bytes that are no UTF-8 text are not taken: nothing here could keep them as they are. */
function LoadFile({ onText, onProblem }: { onText: (text: string) => void; onProblem: (problem: string) => void }) {
  const input = useRef<HTMLInputElement>(null)
  const load = async (file: File | undefined) => {
    if (!file) return
    if (file.size > LIMITS.cloudInitBytes) return onProblem(`${file.name} was not loaded: it is larger than 64 KiB.`)
    try {
      onText(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(await file.arrayBuffer()))
      onProblem('')
    } catch {
      onProblem(`${file.name} was not loaded: it is not UTF-8 text. The command line takes it as it is.`)
    }
  }
  return (
    <>
      <Button look="quiet" onClick={() => input.current?.click()}>
        <FileUp size={14} aria-hidden />
        Load a file
      </Button>
      <input
        ref={input}
        type="file"
        hidden
        aria-label="File with user-data"
        onChange={(e) => {
          void load(e.target.files?.[0])
          e.target.value = ''
        }}
      />
    </>
  )
}
