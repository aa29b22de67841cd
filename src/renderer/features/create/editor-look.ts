import { type EditorState, RangeSetBuilder } from '@codemirror/state'
import {
  Decoration,
  type DecorationSet,
  EditorView,
  highlightSpecialChars,
  ViewPlugin,
  type ViewUpdate,
} from '@codemirror/view'

const mark = (name: string) => Decoration.mark({ class: `cm-ci-${name}` })
const MARKS = {
  header: mark('header'),
  comment: mark('comment'),
  key: mark('key'),
  text: mark('text'),
  jinja: mark('jinja'),
  dash: mark('dash'),
}
const LONGEST_LINE = 2_000

/** One alternative a name; the first that matches wins. */
const TOKENS =
  /(?<jinja>\{[{%#].*?[}%#]\})|(?<comment>(?:^|(?<=\s))#.*$)|(?<dash>^\s*(?:- +)+|^\s*-$)|(?<key>(?:^|(?<=^[\s-]*))[A-Za-z_][\w.-]*(?=:(?:\s|$)))|(?<text>"(?:[^"\\]|\\.)*"|'(?:[^']|'')*')/g

function marksOf(state: EditorState, ranges: readonly { from: number; to: number }[]): DecorationSet {
  const builder = new RangeSetBuilder<Decoration>()
  const isHeader = (text: string, number: number) =>
    number < 3 && /^(?:#cloud-config|#!|## template:|#include|#cloud-boothook)/.test(text)
  for (const { from, to } of ranges)
    for (let at = from; at <= to; ) {
      const line = state.doc.lineAt(at)
      const text = line.text.slice(0, LONGEST_LINE)
      if (isHeader(text, line.number)) builder.add(line.from, line.from + text.length, MARKS.header)
      else
        for (const { index, 0: found, groups = {} } of text.matchAll(TOKENS)) {
          const name = (Object.keys(MARKS) as (keyof typeof MARKS)[]).find((one) => groups[one] !== undefined)
          if (name && found.length > 0) builder.add(line.from + index, line.from + index + found.length, MARKS[name])
        }
      at = line.to + 1
    }
  return builder.finish()
}

/** Keys, text, comments and template marks of the lines that are seen; a picture only, never a check. */
export const colours = ViewPlugin.fromClass(
  class {
    decorations: DecorationSet
    constructor(view: EditorView) {
      this.decorations = marksOf(view.state, view.visibleRanges)
    }
    update(update: ViewUpdate) {
      if (update.docChanged || update.viewportChanged)
        this.decorations = marksOf(update.state, update.view.visibleRanges)
    }
  },
  { decorations: ({ decorations }) => decorations },
)

const NAMES: Readonly<Record<number, string>> = { 13: '␍', 65279: 'BOM' }

/** What is in the bytes and in no letter: line ends of Windows, a byte order mark, blanks that are none. */
export const hiddenChars = highlightSpecialChars({
  render: (code, description) => {
    const shown = document.createElement('span')
    shown.className = 'cm-specialChar'
    shown.textContent = NAMES[code] ?? '•'
    shown.title = code === 13 ? 'line end of Windows' : (description ?? '')
    return shown
  },
})

/** By the app's own tokens, so that light, dark and high contrast are one look. */
export const look = EditorView.theme({
  '&': { backgroundColor: 'var(--panel)', color: 'var(--ink)', fontSize: '12px', borderRadius: '6px' },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '1px' },
  '.cm-scroller': {
    fontFamily: 'var(--font-mono, ui-monospace, monospace)',
    lineHeight: '20px',
    maxHeight: '28rem',
    overflow: 'auto',
  },
  '.cm-content': { padding: '6px 0', minHeight: '9rem', caretColor: 'var(--ink)' },
  '.cm-gutters': {
    backgroundColor: 'var(--bg)',
    color: 'var(--faint)',
    borderRight: '1px solid var(--line)',
    borderRadius: '6px 0 0 6px',
  },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'color-mix(in srgb, var(--accent) 7%, transparent)' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    backgroundColor: 'color-mix(in srgb, var(--accent) 28%, transparent)',
  },
  '.cm-specialChar': { color: 'var(--faint)', fontSize: '10px' },
  '.cm-placeholder': { color: 'var(--faint)', fontFamily: 'var(--font-sans, sans-serif)', fontStyle: 'italic' },
  '.cm-tooltip': {
    backgroundColor: 'var(--panel)',
    color: 'var(--ink)',
    border: '1px solid var(--line)',
    borderRadius: '6px',
    boxShadow: 'var(--shadow)',
  },
  '.cm-tooltip-autocomplete ul li[aria-selected]': { backgroundColor: 'var(--accent)', color: 'var(--accent-ink)' },
  '.cm-diagnostic': {
    padding: '6px 10px',
    maxWidth: '34rem',
    borderLeftWidth: '3px',
    fontFamily: 'var(--font-sans, sans-serif)',
  },
  '.cm-diagnostic-error': { borderLeftColor: 'var(--bad)' },
  '.cm-diagnostic-warning': { borderLeftColor: 'var(--warn)' },
  '.cm-diagnostic-info': { borderLeftColor: 'var(--info)' },
  '.cm-diagnosticAction': {
    backgroundColor: 'var(--accent)',
    color: 'var(--accent-ink)',
    borderRadius: '4px',
    padding: '2px 8px',
    minHeight: '24px',
  },
  '.cm-lintRange-error': { backgroundImage: 'none', textDecoration: 'underline wavy var(--bad)' },
  '.cm-lintRange-warning': { backgroundImage: 'none', textDecoration: 'underline wavy var(--warn)' },
  '.cm-lintRange-info': { backgroundImage: 'none', textDecoration: 'underline dotted var(--info)' },
  '.cm-lint-marker': { content: 'none', width: '8px', height: '8px', borderRadius: '2px', marginTop: '6px' },
  '.cm-lint-marker-error': { backgroundColor: 'var(--bad)' },
  '.cm-lint-marker-warning': { backgroundColor: 'var(--warn)', borderRadius: '50%' },
  '.cm-lint-marker-info': { backgroundColor: 'var(--info)', borderRadius: '50%' },
  '.cm-ci-header': { color: 'var(--hold)', fontWeight: '600' },
  '.cm-ci-comment': { color: 'var(--faint)', fontStyle: 'italic' },
  '.cm-ci-key': { color: 'var(--info)' },
  '.cm-ci-text': { color: 'var(--good)' },
  '.cm-ci-jinja': { color: 'var(--ember-text, var(--warn))' },
  '.cm-ci-dash': { color: 'var(--faint)' },
})
