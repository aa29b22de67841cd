import type { Edit, Remark } from './finding.ts'

const MOST_EDITS = 1000

/** What is to be said of a script that begins with #! at `from`. */
export function checkScript(text: string, from: number): Remark[] {
  const remarks: Remark[] = []
  const [line = ''] = text.slice(from).split('\n', 1)
  if (!/^#![ \t]*\/\S/.test(line))
    remarks.push({
      at: from,
      severity: 'warning',
      rule: 'shebang',
      what: 'behind #! the guest needs the whole path of a program',
      fix: 'Write #!/bin/sh or #!/usr/bin/env with the name of the program.',
    })
  const nul = text.indexOf('\0', from)
  if (nul >= 0)
    remarks.push({
      at: nul,
      severity: 'error',
      rule: 'control-character',
      what: 'a NUL byte stands in this script',
      fix: 'Take it out, or carry binary data in base64.',
      edits: [{ start: nul, end: nul + 1, text: '' }],
    })
  const returns = [...text.slice(from).matchAll(/\r(?=\n)/g)].map((match) => from + match.index)
  const [first] = returns
  if (first !== undefined)
    remarks.push({
      at: first,
      severity: 'warning',
      rule: 'crlf',
      what: line.endsWith('\r')
        ? 'this script has Windows line ends: cloud-init mends that, other guests look for a program whose name ends in one'
        : 'lines of this script have Windows line ends, which become a part of what they say',
      fix: 'Use line ends of Unix.',
      ...(returns.length <= MOST_EDITS
        ? { edits: returns.map((at): Edit => ({ start: at, end: at + 1, text: '' })) }
        : {}),
    })
  return remarks
}

/** What is to be said of the addresses of an #include. */
export function checkInclude(text: string, from: number): Remark[] {
  const remarks: Remark[] = []
  let at = from
  for (const line of text.slice(from).split('\n')) {
    const address = line.replace(/^#include(-once)?/i, '').trim()
    if (address !== '' && !address.startsWith('#') && !/^(?:https?|ftp|file):\/\/.|^\//i.test(address))
      remarks.push({
        at,
        severity: 'error',
        rule: 'include-url',
        what: 'this line of an #include is no address, and then none of the user-data is used',
        fix: 'Give a URL a line, beginning with https:// or http://.',
      })
    at += line.length + 1
  }
  return remarks
}
