import { LineCounter, parseDocument } from 'yaml'

const HEADERS = [
  '#cloud-config',
  '#!',
  '## template: jinja',
  'Content-Type:',
  'MIME-Version:',
  '#include',
  '#cloud-boothook',
]

/** The first thing cloud-init would stumble over, with its line; undefined when it looks fine or is empty. */
export function checkCloudInit(text: string): string | undefined {
  if (text === '') return undefined
  if (text.startsWith('\ufeff')) return 'line 1: starts with a byte order mark; cloud-init would ignore it all'
  if (/^\s*\n/.test(text)) return 'line 1: is blank; the first line must be the header'
  const [first = ''] = text.split('\n', 1)
  if (!HEADERS.some((h) => first.startsWith(h))) return 'line 1: must be a header such as #cloud-config or #!/bin/sh'
  if (first.startsWith('#!') && text.includes('\r')) return 'a script with Windows line ends does not run'
  if (!first.startsWith('#cloud-config')) return undefined
  return checkYaml(text)
}

/** By the rules of YAML 1.1, as the guest's parser reads it. */
function checkYaml(text: string): string | undefined {
  const tab = text.split('\n').findIndex((line) => /^ *\t/.test(line))
  if (tab >= 0) return `line ${tab + 1}: indent with spaces, not with a tab`
  const lines = new LineCounter()
  const document = parseDocument(text, { version: '1.1', lineCounter: lines, prettyErrors: false })
  const [problem] = [...document.errors, ...document.warnings]
  if (!problem) return undefined
  return `line ${lines.linePos(problem.pos[0]).line}: ${problem.message.split('\n', 1)[0]}`
}
