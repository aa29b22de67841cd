import { NETWORK_KEYS, TOP_KEYS } from './config-keys.ts'
import type { Edit, Remark } from './finding.ts'

export type Kind = 'cloud-config' | 'script' | 'jinja' | 'include' | 'boothook' | 'mime' | 'other'

const HEADERS: [header: string, kind: Kind][] = [
  ['## template: jinja', 'jinja'],
  ['#cloud-config-archive', 'other'],
  ['#cloud-config-jsonp', 'other'],
  ['#cloud-boothook', 'boothook'],
  ['#cloud-config', 'cloud-config'],
  ['#part-handler', 'other'],
  ['#include', 'include'],
  ['#!', 'script'],
]
const SHELL =
  /^(?:set|export|cd|echo|sudo|apt|apt-get|dnf|yum|apk|pip3?|curl|wget|systemctl|mkdir|if|for|while|touch|cat|chmod|useradd)\s/

/** cloud-init looks so far for "MIME-Version:", and reads what it finds as mail, whatever its first line is. */
const MAIL_CHARS = 4096
const isMail = (head: string): boolean => /^(?:from |[!-9;-~]+:)/i.test(head) && /^mime-version:/im.test(head)

/** What cloud-init takes the text at `from` for, whatever stands in front of it is blank; undefined = nothing it knows. */
export function kindAt(text: string, from: number): Kind | undefined {
  const start = text.slice(from, from + 64).toLowerCase()
  if (/^(?:content-type|mime-version):/.test(start) || isMail(text.slice(from, from + MAIL_CHARS))) return 'mime'
  return HEADERS.find(([header]) => start.startsWith(header))?.[1]
}

const FOREIGN: [begins: RegExp, whose: string][] = [
  [/^(?:#ps1(?:_sysnative|_x86)?\s|<powershell>|<script>|rem cmd\b)/i, 'cloudbase-init'],
  [/^\{[\s\S]{0,2000}"ignition"\s*:/, 'Ignition'],
  [/^(?:(?:#.*|---)?[ \t\r]*\n){0,50}version: v1alpha1\b[\s\S]*^machine:/m, 'Talos'],
]

/** What is to be said of user-data for a guest without cloud-init; undefined = it is none of those known. */
export function foreign(text: string, start: number): Remark | undefined {
  const whose = FOREIGN.find(([begins]) => begins.test(text.slice(start, start + 8192)))?.[1]
  if (whose === undefined) return undefined
  return {
    at: start,
    wholeLine: true,
    severity: 'info',
    rule: 'not-cloud-init',
    what: `this is for ${whose}, not for cloud-init, so nothing in it was looked at`,
    fix: 'See that the image has it.',
  }
}

/** Kinds of which every byte in front of the first line counts. */
const STRICT: readonly Kind[] = ['script', 'jinja', 'mime']

/** What is to be said of blank lines in front of a header. */
export function checkBlank(kind: Kind, from: number, start: number): Remark[] {
  if (start === from) return []
  const strict = STRICT.includes(kind)
  return [
    {
      at: from,
      wholeLine: true,
      severity: strict ? 'error' : 'warning',
      rule: 'blank-first-line',
      what: strict
        ? 'the first line is blank, and what follows is not taken for what it is'
        : 'the first line is blank: cloud-init passes over that, other guests and tools do not',
      fix: 'Begin with the header.',
      edits: [{ start: from, end: start, text: '' }],
    },
  ]
}

/** Why nothing at `start` is a header: misspelt, further down, or none at all. */
export function explainFirstLine(text: string, start: number): Remark {
  const line = (text.slice(start).split('\n', 1)[0] ?? '').trimEnd()
  const replaced = (header: string): Edit[] => [{ start, end: start + line.length, text: header }]
  const error = (rule: string, what: string, fix: string, edits?: Edit[]): Remark => ({
    at: start,
    wholeLine: true,
    severity: 'error',
    rule,
    what,
    fix,
    ...(edits ? { edits } : {}),
  })
  const spelt = intended(line)
  if (spelt !== undefined)
    return error(
      'header-misspelt',
      `the first line must be exactly ${spelt}, and cloud-init passes over all of it otherwise`,
      `Write ${spelt}.`,
      replaced(spelt),
    )
  const late = lateHeader(text, start)
  if (late)
    return error(
      'header-late',
      'the header stands further down, and cloud-init looks for it only in the first line',
      'Move it to the top.',
      [
        { start, end: start, text: `${text.slice(late.start, late.lineEnd)}\n` },
        { start: late.start, end: late.end, text: '' },
      ],
    )
  if (isBase64(text, start))
    return error('base64', 'this is base64, which nothing here or in the guest undoes', 'Give the text itself.')
  const key = /^([A-Za-z_][\w-]*):(?:\s|$)/.exec(firstWords(text, start))?.[1] ?? ''
  if (NETWORK_KEYS.has(key) || (key === 'version' && /^ethernets:/m.test(text)))
    return error(
      'header-missing',
      'this looks like network configuration, which is a document of its own; as user-data it is passed over',
      'Give user-data with a header such as #cloud-config, or none.',
    )
  const config = Object.hasOwn(TOP_KEYS, key)
  const script = SHELL.test(line)
  return error(
    'header-missing',
    'the first line is no header such as #cloud-config or #!/bin/sh, and cloud-init passes over all of it',
    config ? 'Put #cloud-config in front of it.' : script ? 'Put #!/bin/sh in front of it.' : 'Begin with one of them.',
    config || script ? [{ start, end: start, text: config ? '#cloud-config\n' : '#!/bin/sh\n' }] : undefined,
  )
}

/** The header a line was meant to be. */
function intended(line: string): string | undefined {
  if (/^#+\s*template\s*:?\s*jinja\S*\s*$/i.test(line)) return '## template: jinja'
  if (line.length > 40 || /:\s*\S/.test(line)) return undefined
  const letters = line.toLowerCase().replaceAll(/[^a-z]/g, '')
  if (/^(?:cloud(?:config|cofnig|confg|conifg|conf|configs|init)|clodconfig|cloundconfig)$/.test(letters))
    return '#cloud-config'
  return letters === 'cloudboothook' ? '#cloud-boothook' : undefined
}

/** A header below nothing but comments, blank lines and document marks. */
function lateHeader(text: string, from: number): { start: number; end: number; lineEnd: number } | undefined {
  let at = from
  for (const line of text.slice(from).split('\n', 200)) {
    if (at > from && kindAt(text, at) && kindAt(text, at) !== 'mime')
      return { start: at, end: Math.min(at + line.length + 1, text.length), lineEnd: at + line.trimEnd().length }
    if (!/^\s*(?:#.*)?$|^---\s*$/.test(line)) return undefined
    at += line.length + 1
  }
  return undefined
}

function isBase64(text: string, start: number): boolean {
  const body = text.slice(start).replaceAll(/\s/g, '')
  if (body.length < 16 || !/^[A-Za-z0-9+/]+={0,2}$/.test(body)) return false
  try {
    const head = atob(body.slice(0, 64))
    return head.startsWith('\x1f\x8b') || kindAt(head, 0) !== undefined
  } catch {
    return false
  }
}

/** The first line that is no comment. */
const firstWords = (text: string, start: number): string =>
  text
    .slice(start, start + 4096)
    .split('\n')
    .find((line) => !/^\s*(?:#.*)?$|^---/.test(line)) ?? ''

/** Whether the line of a template header says what cloud-init renders; a part whose MIME type says so is taken with less care. */
export const isJinjaLine = (text: string, start: number, said: boolean): boolean =>
  (said ? /^##\s*template:\s*jinja\s*$/i : /^## template: jinja\s*$/i).test(text.slice(start).split('\n', 1)[0] ?? '')
