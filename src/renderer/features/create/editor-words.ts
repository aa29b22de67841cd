import type { Completion, CompletionContext, CompletionResult } from '@codemirror/autocomplete'
import { FILE_KEYS, TOP_KEYS, USER_KEYS, V1_NAMES } from '../../../ipc/cloud-init/config-keys.ts'

const FIRST_LINES = ['#cloud-config', '## template: jinja', '#!/bin/sh', '#include']
const OF_LIST: Readonly<Record<string, readonly string[]>> = {
  write_files: ['path', 'permissions', 'content', ...Object.keys(FILE_KEYS)],
  users: ['name', ...Object.keys(USER_KEYS)],
}

/** Words that may stand where the caret is: headers, keys of where it is, names of templates. */
export function wordsAt({
  lines,
  line,
  before,
}: {
  lines: readonly string[]
  line: number
  before: string
}): { from: number; words: readonly string[]; suffix: string } | undefined {
  const name = /\bv1\.(\w*)$/.exec(before)
  if (name) return { from: before.length - name[1]!.length, words: V1_NAMES, suffix: '' }
  if (line === 0 && /^#*[\s\S]{0,20}$/.test(before) && !before.includes(':'))
    return { from: 0, words: FIRST_LINES, suffix: '' }
  const key = /^(\s*(?:- +)?)([a-z_]*)$/.exec(before)
  if (!key) return undefined
  const [, indent = '', typed = ''] = key
  if (indent === '') return typed === '' ? undefined : { from: 0, words: Object.keys(TOP_KEYS), suffix: ': ' }
  const parent = lines.slice(0, line).findLast((one) => /^[a-z_]+:/.test(one))
  const words = OF_LIST[parent?.split(':', 1)[0] ?? '']
  return words && { from: indent.length, words: [...new Set(words)], suffix: ': ' }
}

/** For CodeMirror. */
export function completeCloudInit(context: CompletionContext): CompletionResult | null {
  const { doc } = context.state
  const line = doc.lineAt(context.pos)
  const before = line.text.slice(0, context.pos - line.from)
  const lines = doc.sliceString(0, line.from).split('\n')
  const found = wordsAt({ lines, line: line.number - 1, before })
  if (!found || (before.length === found.from && !context.explicit)) return null
  const options: Completion[] = found.words.map((word) => ({
    label: word,
    apply: word + found.suffix,
    type: 'keyword',
  }))
  return { from: line.from + found.from, options, validFor: /^[\w# :!/]*$/ }
}
