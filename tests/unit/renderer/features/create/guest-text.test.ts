import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkUserData } from '../../../../../src/ipc/cloud-init/check.ts'
import { effectsOf, shortKey } from '../../../../../src/renderer/features/create/effects.ts'
import { guestText } from '../../../../../src/renderer/features/create/guest-text.ts'
import { renderJinja, sampleData } from '../../../../../src/renderer/features/create/jinja-render.ts'

const DATA = sampleData({ name: 'web-13', os: 'Debian 12 (bookworm)', arch: 'x86_64', keys: ['ssh-ed25519 AAAA ops'] })
const render = (text: string) => renderJinja(text, DATA)

describe('a template in the preview', () => {
  it.each([
    ['{{ v1.local_hostname }}.example', 'web-13.example'],
    ["{% if v1.distro == 'debian' %}apt{% else %}dnf{% endif %}", 'apt'],
    ["{% if v1.distro == 'fedora' %}dnf{% elif v1.distro_release == 'bookworm' %}old{% endif %}", 'old'],
    ['{% if not v1.region %}none{% endif %}', 'none'],
    ["{{ ds.meta_data.zone | default('here') }}", 'here'],
    ['{{ v1.nothing }}', 'CI_MISSING_JINJA_VAR/nothing'],
    ['{{ v1.region }}', 'None'],
    ['a\n{% if true %}\nb\n{% endif %}\nc\n', 'a\nb\nc\n'],
    ["{% set x = 'y' %}{{ x | upper }}{# gone #}", 'Y'],
    ['{{ v1.public_ssh_keys | first }}', 'ssh-ed25519 AAAA ops'],
    ['{{ v1.public_ssh_keys[0] }}', 'ssh-ed25519 AAAA ops'],
  ])('makes of %j what a guest would', (text, out) => expect(render(text)).toEqual({ text: out, left: [] }))

  it('leaves what it cannot evaluate as it is written, and says so', () => {
    expect(render('a\n{{ range(3) }} {{ v1.distro }}')).toEqual({
      text: 'a\n{{ range(3) }} debian',
      left: [{ line: 2, what: 'range(3)' }],
    })
    expect(render("{{ v1.distro | regex('x') }}").left).toEqual([{ line: 1, what: 'the filter regex' }])
    expect(render('a\n{% for k in v1.public_ssh_keys %}\n{{ k }}\n{% endfor %}\n')).toEqual({
      text: 'a\n{% for k in v1.public_ssh_keys %}\n{{ k }}\n{% endfor %}\n',
      left: [{ line: 2, what: '{% for %} and all behind it' }],
    })
  })

  it('reaches nothing but its data', () => {
    for (const text of ['{{ constructor }}', '{{ v1.__proto__ }}', '{{ v1.constructor }}', '{{ toString }}'])
      expect(render(text).text).toMatch(/^CI_MISSING_JINJA_VAR/)
  })

  it('ends whatever it is given', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('{{', '}}', '{%', '%}', ' if ', 'v1.distro', "'", '|', 'x', '\n', ' and '), {
          maxLength: 40,
        }),
        (parts) => {
          expect(typeof render(parts.join('')).text).toBe('string')
        },
      ),
    )
    expect(render('{{ v1.distro }}'.repeat(3000)).left).toHaveLength(1)
  })
})

const CONFIG = `#cloud-config
hostname: other
write_files:
  - path: /etc/app.conf
    permissions: 0644
    content: hello
  - {path: /root/x, permissions: '0600', append: yes}
users:
  - default
  - name: ops
    sudo: ALL=(ALL) NOPASSWD:ALL
    groups: [adm, docker]
    ssh_authorized_keys: [ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIabc9wQk ops@laptop]
packages: [nginx, [jq, 1.6]]
runcmd:
  - [systemctl, restart, nginx]
  - |
    one
    two
ntp:
`

describe('what a guest will see', () => {
  it('is listed thing by thing, with what to know of each', () => {
    expect(
      effectsOf(CONFIG).list.map(({ verb, what, detail }) => [verb, what, detail].filter(Boolean).join(' | ')),
    ).toEqual([
      'name | other | host name, in place of the one of this VM',
      'write | /etc/app.conf | 0644 · 5 B',
      'write | /root/x | 0600 · appended · 0 B',
      'user | the first user of the image',
      'user | ops | ED25519 …9wQk ops@laptop · may do anything with sudo · in adm, docker',
      'packages | nginx jq 1.6 | 2',
      'run | systemctl restart nginx',
      'run | one (+1 line)',
      'set | ntp',
    ])
  })

  it('has the mode a guest makes of a number, not what was meant', () =>
    expect(effectsOf('#cloud-config\nwrite_files:\n  - path: /a\n    permissions: 644\n').list[0]?.detail).toBe(
      '1204 · 0 B',
    ))

  it('of a script is that it runs', () =>
    expect(effectsOf('#!/bin/sh\nid\n').list).toEqual([
      { verb: 'run', what: 'a script of 2 lines', detail: '#!/bin/sh' },
    ]))

  it('is not guessed of what a guest cannot read', () =>
    expect(effectsOf('#cloud-config\na: [').unread).toBe('A guest cannot read it as it stands.'))

  it('names a key by its end and its comment', () => {
    expect(shortKey('ssh-ed25519 AAAAC3Nz9wQk= me')).toBe('ED25519 …9wQk me')
    expect(shortKey('github')).toBe('a key')
  })
})

describe('the text as the guest gets it', () => {
  const of = (text: string) => guestText(text, DATA, checkUserData(text))

  it('is told in bytes, with its first line in hex', () => {
    expect(of('#cloud-config\nhostname: ä\n')).toMatchObject({
      ...{ bytes: 27, lineEnds: 'Unix', byteOrderMark: false, secrets: 0 },
      hex: [
        { bytes: '23 63 6c 6f 75 64 2d 63 6f 6e', text: '#cloud-con' },
        { bytes: '66 69 67 0a', text: 'fig·' },
      ],
    })
  })

  it('shows a byte order mark and line ends of Windows', () =>
    expect(of('\ufeff#cloud-config\r\nhostname: a\r\n')).toMatchObject({
      byteOrderMark: true,
      lineEnds: 'Windows',
      hex: [{ bytes: expect.stringMatching(/^ef bb bf 23/) }, {}],
    }))

  it('counts secrets that stand in it', () =>
    expect(of('#cloud-config\npassword: hunter2\nchpasswd: {expire: false}\n').secrets).toBe(1))

  it('lists the effects of a template as it is rendered', () => {
    const { rendered, effects } = of('## template: jinja\n#cloud-config\nhostname: {{ v1.local_hostname }}-x\n')
    expect(rendered?.text).toBe('#cloud-config\nhostname: web-13-x\n')
    expect(effects.list[0]?.what).toBe('web-13-x')
  })
})
