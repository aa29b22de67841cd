import { autocompletion } from '@codemirror/autocomplete'
import {
  defaultKeymap,
  history,
  historyKeymap,
  indentLess,
  indentMore,
  isolateHistory,
  redo,
  temporarilySetTabFocusMode,
  undo,
} from '@codemirror/commands'
import { type Diagnostic, lintGutter, nextDiagnostic, previousDiagnostic, setDiagnostics } from '@codemirror/lint'
import { Annotation, EditorSelection, EditorState, type Text } from '@codemirror/state'
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  keymap,
  lineNumbers,
  placeholder,
} from '@codemirror/view'
import { type Ref, useEffect, useImperativeHandle, useRef } from 'react'
import type { Edit, Finding } from '../../../ipc/cloud-init/finding.ts'
import { colours, hiddenChars, look } from './editor-look.ts'
import { completeCloudInit } from './editor-words.ts'
import type { Findings } from './use-findings.ts'

export interface EditorHandle {
  /** Makes edits: a step of undo of their own, or one with what is typed around them. */
  change(edits: readonly Edit[], undo: 'alone' | 'typed'): void
  jump(line: number, column?: number): void
  undo(): void
  redo(): void
}

interface CodeEditorProps {
  value: string
  onChange: (value: string) => void
  label: string
  /** Id of what is said of it. */
  describedBy?: string
  findings: Findings
  placeholder?: string
  ref?: Ref<EditorHandle>
}

const LEAVING = 'Tab leaves the editor now.'
const fromOutside = Annotation.define<true>()

/**
 * Text with its findings in the lines. The document is split at line feeds alone, so that every other byte of it stays,
 * and offsets of findings are offsets of the document.
 */
export function CodeEditor({ value, onChange, label, describedBy, findings, placeholder: hint, ref }: CodeEditorProps) {
  const parent = useRef<HTMLDivElement>(null)
  const view = useRef<EditorView>(null)
  const latest = useRef({ value, onChange })
  latest.current = { value, onChange }

  useEffect(() => {
    if (!parent.current) return
    const editor = new EditorView({
      parent: parent.current,
      state: EditorState.create({
        doc: latest.current.value,
        extensions: extensions({ label, describedBy, hint, onText: (text) => latest.current.onChange(text) }),
      }),
    })
    view.current = editor
    return () => editor.destroy()
  }, [label, describedBy, hint])

  useEffect(() => {
    const editor = view.current
    if (!editor || editor.state.sliceDoc() === value) return
    editor.dispatch({
      changes: { from: 0, to: editor.state.doc.length, insert: value },
      annotations: fromOutside.of(true),
    })
  }, [value])

  useEffect(() => {
    const editor = view.current
    if (!editor || editor.state.sliceDoc() !== findings.of) return
    editor.dispatch(
      setDiagnostics(
        editor.state,
        findings.found.map((finding) => diagnosticOf(finding, editor.state.doc)),
      ),
    )
  }, [findings])

  useImperativeHandle(ref, () => ({
    change: (edits, undo) => view.current && makeEdits(view.current, edits, undo),
    jump(line, column = 1) {
      const editor = view.current
      if (!editor) return
      const { from, to } = editor.state.doc.line(Math.min(Math.max(1, line), editor.state.doc.lines))
      const anchor = Math.min(from + column - 1, to)
      editor.dispatch({ selection: { anchor }, effects: EditorView.scrollIntoView(anchor, { y: 'center' }) })
      editor.focus()
    },
    undo: () => void (view.current && undo(view.current)),
    redo: () => void (view.current && redo(view.current)),
  }))
  return <div ref={parent} className="min-w-0 rounded-md border border-line-strong/70" />
}

function makeEdits(view: EditorView, edits: readonly Edit[], undo: 'alone' | 'typed'): void {
  const changes = edits.map(({ start, end, text }) => ({ from: start, to: end, insert: text }))
  if (undo === 'typed') view.dispatch({ changes, userEvent: 'input.type' })
  else view.dispatch({ changes, annotations: isolateHistory.of('full'), userEvent: 'input.fix' })
}

function diagnosticOf(finding: Finding, doc: Text): Diagnostic {
  const line = doc.line(Math.min(finding.line, doc.lines))
  const from = Math.min(line.from + (finding.column ?? 1) - 1, line.to)
  const { edits, severity } = finding
  const message = `${finding.what}. ${finding.fix}`
  const actions = edits
    ? { actions: [{ name: 'Apply fix', apply: (view: EditorView) => makeEdits(view, edits, 'alone') }] }
    : {}
  return { from, to: line.to, severity, message, ...actions }
}

interface Wiring {
  label: string
  describedBy: string | undefined
  hint: string | undefined
  onText: (text: string) => void
}

function extensions({ label, describedBy, hint, onText }: Wiring) {
  return [
    EditorState.lineSeparator.of('\n'),
    lineNumbers(),
    lintGutter(),
    hiddenChars,
    history(),
    drawSelection(),
    highlightActiveLine(),
    highlightActiveLineGutter(),
    autocompletion({ override: [completeCloudInit], icons: false }),
    colours,
    look,
    ...(hint ? [placeholder(hint)] : []),
    EditorState.tabSize.of(2),
    EditorView.contentAttributes.of({
      'aria-label': label,
      spellcheck: 'false',
      autocapitalize: 'off',
      ...(describedBy ? { 'aria-describedby': describedBy } : {}),
    }),
    keymap.of([
      { key: 'Escape', run: leaveByTab },
      { key: 'Enter', run: breakLine },
      { key: 'Tab', run: indentOrSpaces, shift: indentLess },
      { key: 'F8', run: nextDiagnostic, shift: previousDiagnostic },
      ...historyKeymap,
      // Ctrl or ⌘ and Enter creates the VM, wherever the caret is.
      ...defaultKeymap.filter(({ key }) => key !== 'Mod-Enter' && key !== 'Escape'),
    ]),
    EditorView.updateListener.of((update) => {
      const outside = update.transactions.some((one) => one.annotation(fromOutside))
      if (update.docChanged && !outside) onText(update.state.sliceDoc())
    }),
  ]
}

function leaveByTab(view: EditorView): boolean {
  view.dispatch({ effects: EditorView.announce.of(LEAVING) })
  return temporarilySetTabFocusMode(view)
}

/** As the line before ends, and indented as it is; a level deeper behind a key without a value. */
function breakLine(view: EditorView): boolean {
  const { state } = view
  view.dispatch(
    state.changeByRange(({ from, to }) => {
      const line = state.doc.lineAt(from)
      const before = line.text.slice(0, from - line.from)
      const indent = /^ */.exec(before)?.[0] ?? ''
      const deeper = /^[^#]*:\s*[|>]?[-+]?\s*$/.test(before) ? '  ' : ''
      const windows = state.doc.line(1).text.endsWith('\r')
      // At the very end of a line of Windows its carriage return stays in front of the new break.
      const insert = `${windows ? '\r\n' : '\n'}${indent}${deeper}`
      return { changes: { from, to, insert }, range: EditorSelection.cursor(from + insert.length) }
    }),
    { scrollIntoView: true, userEvent: 'input' },
  )
  return true
}

function indentOrSpaces(view: EditorView): boolean {
  if (!view.state.selection.main.empty) return indentMore(view)
  view.dispatch(view.state.replaceSelection('  '), { scrollIntoView: true, userEvent: 'input' })
  return true
}
