import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ROOT, sourceFiles } from './source-files.ts'

const read = (path: string) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') })
const agent = sourceFiles('src/agent').map(read)
const main = sourceFiles('src/main').map(read)
const hosts = sourceFiles('src/main/control/hosts').map(read)

/** Ways to a shell of this computer: as a program, by an option, or by a call that takes one line. */
const TO_A_SHELL = [
  /\bshell: *(true|['"])/,
  /['"`](\/bin\/|\/usr\/bin\/)?(ba|da|k|z|fi|c)?sh['"`]/,
  /\b(exec|execSync|execFileSync)\b[^;]*from 'node:child_process'/,
  /child_process'\)?\.exec/,
]
/**
 * By its file: busybox told to act as a shell, with constant text and its arguments by position; a shell that is the
 * guest's, started by its guest agent; and names of shells that nothing starts here.
 */
const ALLOWED: Record<string, string> = {
  // Of a login's line in /etc/passwd.
  'src/agent/install/login-user.ts': `const LOGIN_SHELL = '/bin/sh'`,
  'src/agent/guest/guest-agent.ts': `{ path: 'sh', arg: ['-s'], 'input-data': input }`,
  'src/main/cli/completion-command.ts': `['bash', 'zsh', 'fish']`,
  'src/main/control/images/tiny/guest-root.ts': `['sh', '-c', 'exec "$0" xzcat "$1" >"$2"', busybox, path, out]`,
}

/** Text handed on as it is: the script itself, and the command a host's own package manager has. */
const HANDED_ON = new Set([
  'src/main/control/hosts/ssh/script.ts: script',
  'src/main/control/hosts/packages.ts: command',
])

/** The two ends of a choice; undefined = it is none. */
function choiceOf(expression: string): [string, string] | undefined {
  let quote = ''
  let depth = 0
  let question = -1
  for (let i = 0; i < expression.length; i++) {
    const char = expression[i]!
    if (quote !== '') {
      if (char === quote) quote = ''
    } else if (`'"\``.includes(char)) quote = char
    else if ('([{'.includes(char)) depth++
    else if (')]}'.includes(char)) depth--
    else if (depth === 0 && question < 0 && expression.startsWith(' ? ', i)) question = i
    else if (depth === 0 && question >= 0 && expression.startsWith(' : ', i))
      return [expression.slice(question + 3, i), expression.slice(i + 3)]
  }
  return undefined
}

/** Whether a host's shell reads this as constant text or as words quoted for it. */
function isSafe(expression: string, source: { path: string; text: string }): boolean {
  const ends = choiceOf(expression)
  if (ends) return ends.every((end) => isSafe(end, source))
  if (/^shellWord\(([^()]|\([^()]*\))*\)$/.test(expression)) return true
  if (/^'[^']*'$/.test(expression) || expression === "randomBytes(8).toString('hex')") return true
  const [template, ...more] = templates(expression)
  if (template?.text === expression && more.length === 0)
    return template.expressions.every((inner) => isSafe(inner, source))
  if (!/^\w+$/.test(expression)) return false
  const definition = new RegExp(`const ${expression} = ([^\\n]+)`).exec(source.text)?.[1]
  return definition === undefined ? HANDED_ON.has(`${source.path}: ${expression}`) : isSafe(definition, source)
}

/** Template literals of a file with the expressions in them, nested ones whole. */
function templates(text: string): { text: string; expressions: string[] }[] {
  const found: { text: string; expressions: string[] }[] = []
  for (let at = text.indexOf('`'); at >= 0; at = text.indexOf('`', at)) {
    const expressions: string[] = []
    let end = at + 1
    while (end < text.length && text[end] !== '`') {
      if (text[end] === '\\') end++
      else if (text.startsWith('${', end)) {
        const from = end + 2
        let depth = 1
        for (end = from; depth > 0; end++) depth += text[end] === '{' ? 1 : text[end] === '}' ? -1 : 0
        expressions.push(text.slice(from, end - 1))
        continue
      }
      end++
    }
    found.push({ text: text.slice(at, end + 1), expressions })
    at = end + 1
  }
  return found
}

/** Text that a host's shell will read: made in a file that runs commands there, and looking like one. */
const RUNS_THERE = /\brunScript\(|\brunCommand\(|connection\.exec\(/
const IS_SCRIPT =
  /uninstall|install --json|rpc --stdio|umask|grep -qF|\brm -rf|\/bin\/sh|mktemp|trap |eitri_script|sudo -S|cd \$\{/

describe('no shell', () => {
  it('is started on this computer by the agent', () => {
    expect(agent.length).toBeGreaterThan(80)
    const found = agent.filter(({ path, text }) =>
      TO_A_SHELL.some((way) => way.test(text.replace(ALLOWED[path] ?? '', ''))),
    )
    expect(found.map(({ path }) => path)).toEqual([])
  })

  it('is started on this computer by the app, but to unpack one file with constant text', () => {
    const found = main.filter(({ path, text }) =>
      TO_A_SHELL.some((way) => way.test(text.replace(ALLOWED[path] ?? '', ''))),
    )
    expect(found.map(({ path }) => path)).toEqual([])
  })

  it('is written out as a program of its own but by what the system’s ssh runs, as constant text that evaluates nothing', () => {
    const written = main.filter(({ text }) => text.includes('`#!/bin/sh'))
    expect(written.map(({ path }) => path)).toEqual(['src/main/control/hosts/openssh/programs.ts'])
    const scripts = templates(written[0]!.text).filter(({ text }) => text.includes('#!/bin/sh'))
    expect(scripts).toHaveLength(2)
    expect(scripts.flatMap(({ expressions }) => expressions).filter((one) => !/^[A-Z_]+$/.test(one))).toEqual([])
    for (const { text } of scripts) expect(text).not.toMatch(/\beval\b|\$\(\s*"?\$|\bsh -c\b/)
  })

  it.each([
    "spawn('x', { shell: true })",
    "spawn('sh', ['-c', name])",
    "run('tap.add', '/bin/bash', ['-c', name])",
    "import { exec } from 'node:child_process'",
    "import { execSync, spawn } from 'node:child_process'",
  ])('is what %s would be', (text) => {
    expect(TO_A_SHELL.some((way) => way.test(text))).toBe(true)
  })

  it('of a host is given anything but constant text and words quoted for it', () => {
    const scripts = hosts
      .filter(({ text }) => RUNS_THERE.test(text))
      .flatMap((source) => templates(source.text).map((template) => ({ source, ...template })))
      .filter(({ text }) => IS_SCRIPT.test(text))
    expect(scripts.length).toBeGreaterThan(8)
    const loose = scripts.flatMap(({ source, expressions }) =>
      expressions.filter((one) => !isSafe(one, source)).map((one) => `${source.path}: ${one}`),
    )
    expect(loose).toEqual([])
  })

  it.each(['name', 'host.ssh.user', "name ? 'a' : name", 'shellWord(a) + b', "a === 'b' ? 'c' : d"])(
    'of a host would be given %s loose',
    (expression) => {
      expect(isSafe(expression, { path: 'x.ts', text: '' })).toBe(false)
    },
  )
})
