import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkUserData } from '../../../../../src/ipc/cloud-init/check.ts'
import { edited, FormPatch, type Path } from '../../../../../src/renderer/features/create/form-patch.ts'
import { type FormView, readForm } from '../../../../../src/renderer/features/create/form-view.ts'
import { scalarOf } from '../../../../../src/renderer/features/create/yaml-write.ts'

const TEXT = `#cloud-config
# The web server.
hostname: web-1   # as in DNS

packages:
  - nginx         # from backports
  # curl is there already
  - 'jq'
write_files:
- path: /etc/app.conf
  permissions: '0644'
  owner: root:root
  content: |
    one
    two

# Last of all.
runcmd:
  - [systemctl, restart, nginx]
  - echo ready
ntp:
  enabled: true
users:
  - default
  - name: ops
    sudo: ALL=(ALL) NOPASSWD:ALL
    ssh_authorized_keys:
      - ssh-ed25519 AAAA ops
`
const view = (text: string): FormView => {
  const reading = readForm(text)
  if ('refused' in reading) throw new Error(JSON.stringify(reading.refused))
  return reading.view
}
const set = (text: string, path: Path, value: string) => edited(text, new FormPatch(text).set(path, value))
const add = (text: string, path: Path, value: Parameters<FormPatch['add']>[1]) =>
  edited(text, new FormPatch(text).add(path, value))
const remove = (text: string, path: Path) => edited(text, new FormPatch(text).remove(path))

describe('the form of a cloud-config', () => {
  it('shows what it knows and names what it leaves alone', () => {
    const form = view(TEXT)
    expect(form.hostname).toBe('web-1')
    expect(form.packages.map(({ text }) => text)).toEqual(['nginx', 'jq'])
    expect(form.commands.map(({ text, fixed }) => [text, fixed])).toEqual([
      ['[systemctl, restart, nginx]', true],
      ['echo ready', false],
    ])
    expect(form.files[0]).toMatchObject({
      file: '/etc/app.conf',
      permissions: '0644',
      content: 'one\ntwo\n',
      others: ['owner'],
    })
    expect(form.users.map(({ name, fixed }) => [name, fixed])).toEqual([
      ['default', true],
      ['ops', false],
    ])
    expect(form.users[1]?.keys.map(({ text }) => text)).toEqual(['ssh-ed25519 AAAA ops'])
    expect(form.others).toEqual([{ key: 'ntp', line: 21 }])
  })

  it('changes a value and keeps the comment behind it', () =>
    expect(set(TEXT, ['hostname'], 'on')).toBe(TEXT.replace('web-1   #', "'on'   #")))

  it('puts an item behind the last one, in its column', () => {
    expect(add(TEXT, ['packages'], 'git')).toBe(TEXT.replace("  - 'jq'\n", "  - 'jq'\n  - git\n"))
    expect(add(TEXT, ['users', 1, 'ssh_authorized_keys'], 'ssh-rsa BBBB')).toBe(`${TEXT}      - ssh-rsa BBBB\n`)
  })

  it('puts a file behind the last one, in front of the blank line and the comment', () =>
    expect(add(TEXT, ['write_files'], { path: '/b', permissions: '0600', content: 'x: y\n' })).toBe(
      TEXT.replace('    two\n', "    two\n- path: /b\n  permissions: '0600'\n  content: |\n    x: y\n"),
    ))

  it('writes text of several lines as a block, whatever it held before', () => {
    expect(set(TEXT, ['write_files', 0, 'content'], 'a\n\n  b\n')).toBe(
      TEXT.replace('    one\n    two\n', '    a\n\n      b\n'),
    )
    expect(set(TEXT, ['runcmd', 1], 'if true; then\n  reboot\nfi\n')).toBe(
      TEXT.replace('- echo ready', '- |\n    if true; then\n      reboot\n    fi'),
    )
  })

  it('takes an item out with its own comment and no other', () =>
    expect(remove(TEXT, ['packages', 0])).toBe(TEXT.replace('  - nginx         # from backports\n', '')))

  it('takes a list out with its last item, unless a comment stands in it', () => {
    expect(remove('#cloud-config\npackages:\n  - a\nruncmd:\n  - b\n', ['packages', 0])).toBe(
      '#cloud-config\nruncmd:\n  - b\n',
    )
    expect(remove('#cloud-config\npackages:\n  # why\n  - a\n', ['packages', 0])).toBe(
      '#cloud-config\npackages:\n  # why\n  []\n',
    )
  })

  it('begins an empty text with its header', () => {
    expect(add('', ['packages'], 'nginx')).toBe('#cloud-config\npackages:\n  - nginx\n')
    expect(set('#cloud-config', ['hostname'], 'a')).toBe('#cloud-config\nhostname: a\n')
    expect(add('#cloud-config\npackages:\n', ['packages'], 'a')).toBe('#cloud-config\npackages:\n  - a\n')
  })

  it('keeps line ends of Windows', () =>
    expect(add('#cloud-config\r\npackages:\r\n  - a\r\n', ['packages'], 'b')).toBe(
      '#cloud-config\r\npackages:\r\n  - a\r\n  - b\r\n',
    ))

  it.each([
    ['a script', '#!/bin/sh\nid\n', 1],
    ['a template', '## template: jinja\n#cloud-config\nhostname: {{ v1.local_hostname }}\n', 1],
    ['a list in brackets', '#cloud-config\nhostname: a\npackages: [a, b]\n', 3],
    ['a reference', '#cloud-config\nx: &a [1]\npackages: *a\n', 2],
    ['a list of users that is a word', '#cloud-config\nusers: default\n', 2],
    ['what nobody can read', '#cloud-config\npackages:\n\t- a\n', 3],
    ['a key given twice', '#cloud-config\nhostname: a\nhostname: b\n', 3],
    ['a block that keeps its blank lines', '#cloud-config\nruncmd:\n  - |+\n    a\n\n', 3],
  ])('does not touch %s, and says which line', (_, text, line) => {
    const reading = readForm(text)
    expect('refused' in reading && reading.refused[0]?.line).toBe(line)
  })

  it.each([
    'on',
    '0644',
    '22:22',
    '1e3',
    '~',
    '',
    '2026-01-01',
    '- a',
    'a: b',
    'a #b',
    "it's",
    'a\nb',
    '\t',
    '<<',
    '=',
    'ä',
    '🐧',
    '@x',
    '"q"',
    'nginx=1.2',
  ])('writes %j so that a guest reads this very text', (value) => {
    const text = add('#cloud-config\n', ['packages'], value)
    expect(view(text).packages.map(({ text: read, fixed }) => [read, fixed])).toEqual([[value, false]])
  })
})

/** A document of lines whose comments and order a person cares for. */
const word = fc.stringMatching(/^[a-z][a-z0-9-]{0,8}$/)
const value = fc.oneof(
  word,
  fc.constantFrom('on', '0644', 'a: b', 'x # y', "it's", 'ä', 'a\nb\n', '  a\nb'),
  fc.string({ maxLength: 12 }),
)
const comment = fc.oneof(
  fc.constant([]),
  word.map((w) => [`# ${w}`]),
  fc.constant(['']),
)
const list = (key: string) =>
  fc
    .tuple(comment, fc.array(fc.tuple(word, comment), { minLength: 1, maxLength: 4 }), fc.constantFrom('', '  '))
    .map(([above, items, indent]) => [
      ...above,
      `${key}:`,
      ...items.flatMap(([item, below]) => [`${indent}- ${item}   # ${item}`, ...below]),
    ])
const document = fc
  .tuple(
    fc.shuffledSubarray(['packages', 'runcmd', 'bootcmd', 'ntp_servers']),
    fc.array(comment, { minLength: 4, maxLength: 4 }),
    fc.boolean(),
  )
  .chain(([keys, comments, windows]) =>
    fc.tuple(...keys.map(list)).map((parts) => {
      const lines = ['#cloud-config', ...parts.flatMap((part, i) => [...part, ...(comments[i] ?? [])])]
      return `${lines.join(windows ? '\r\n' : '\n')}${windows ? '\r\n' : '\n'}`
    }),
  )

describe('an edit of the form', () => {
  it('changes its own lines alone, and the text says then what the form says', () => {
    fc.assert(
      fc.property(
        document,
        value,
        fc.nat(),
        fc.constantFrom('set', 'add', 'remove', 'hostname'),
        (text, to, pick, act) => {
          const { packages } = view(text)
          const at = packages.length === 0 ? undefined : pick % packages.length
          const kind = at === undefined && act !== 'hostname' ? 'add' : act
          const patch = new FormPatch(text)
          const edit =
            kind === 'hostname'
              ? patch.set(['hostname'], to)
              : kind === 'add'
                ? patch.add(['packages'], to)
                : kind === 'set'
                  ? patch.set(['packages', at!], to)
                  : patch.remove(['packages', at!])
          const next = edited(text, edit)
          const touched = text.slice(edit.start, edit.end)
          expect(touched.split('\n').length).toBeLessThanOrEqual(3)
          const commentsOf = (t: string) => t.split(/\r?\n/).filter((line) => /^\s*#/.test(line))
          if (!to.includes('#')) expect(commentsOf(next)).toEqual(commentsOf(text))
          const [before, after] = [view(text), view(next)]
          expect(after.commands.map((c) => c.text)).toEqual(before.commands.map((c) => c.text))
          const expected = before.packages.map((p) => p.text)
          if (kind === 'add') expected.push(to)
          if (kind === 'set') expected[at!] = to
          if (kind === 'remove') expected.splice(at!, 1)
          expect(after.packages.map((p) => p.text)).toEqual(expected)
          expect(after.hostname).toBe(kind === 'hostname' ? to : before.hostname)
          expect(checkUserData(next).filter(({ rule }) => /indent|syntax|tab/.test(rule))).toEqual([])
        },
      ),
      { numRuns: 400 },
    )
  })

  it('writes every text so that it is read back', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 20 }), (text) => {
        fc.pre(!/[\ud800-\udfff\ufeff]/.test(text.replaceAll(/[\ud800-\udbff][\udc00-\udfff]/g, '')))
        expect(view(`#cloud-config\npackages:\n  - ${scalarOf(text)}\n`).packages[0]?.text).toBe(text)
      }),
    )
  })
})
