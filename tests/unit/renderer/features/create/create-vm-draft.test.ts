import { describe, expect, it } from 'vitest'
import { checkUserData } from '../../../../../src/ipc/cloud-init/check.ts'
import {
  findingsSummary,
  inOrder,
  lineRange,
  nextFinding,
} from '../../../../../src/renderer/features/create/cloud-init-text.ts'
import { createVmCli, createVmScript } from '../../../../../src/renderer/features/create/create-vm-cli.ts'
import {
  type CreateVmDraft,
  checkedShape,
  createVmProblems,
  emptyDraft,
  freeName,
  networksOf,
} from '../../../../../src/renderer/features/create/create-vm-draft.ts'
import { anImage } from '../../../../support/fake-fleet/rows.ts'

const aDraft = (changes: Partial<CreateVmDraft> = {}): CreateVmDraft => ({
  ...emptyDraft('web-1'),
  autostart: false,
  ...changes,
})
const problems = (changes: Partial<CreateVmDraft>) =>
  createVmProblems(aDraft(changes), anImage(), new Set(['taken']), []).map((p) => `${p.field}: ${p.problem}`)

describe('the create form', () => {
  it('asks for a clock policy only where one was chosen', () => {
    expect(checkedShape(aDraft({ clockPolicy: 'host-only' }), anImage())).toMatchObject({ clockPolicy: 'host-only' })
    expect(createVmCli(aDraft({ clockPolicy: 'host-only' }), { host: '', image: '' })).toMatch(
      / --clock-policy host-only/,
    )
    expect(createVmCli(aDraft(), { host: '', image: '' })).not.toContain('clock')
  })

  it('offers the networks of the chosen host, else of all, and refuses one that is not there', () => {
    const hosts = [
      { id: 'a', hostNetworks: ['office', 'lan'] },
      { id: 'b', hostNetworks: ['lan'] },
    ]
    expect(networksOf(hosts, '')).toEqual(['lan', 'office'])
    expect(networksOf(hosts, 'b')).toEqual(['lan'])
    const draft = aDraft({ host: 'b', network: 'office' })
    const problem = { field: 'network', problem: 'that host does not serve it' }
    expect(createVmProblems(draft, anImage(), new Set(), [], networksOf(hosts, 'b'))).toEqual([problem])
    expect(createVmProblems(draft, anImage(), new Set(), [], networksOf(hosts, 'a'))).toEqual([])
    expect(checkedShape(draft, anImage())).toMatchObject({ network: 'office' })
    expect(createVmCli(draft, { host: 'b', image: '' })).toBe(
      'eitri vm create web-1 --host b --network office --no-autostart',
    )
  })

  it('takes sizes left empty from the image', () => {
    expect(checkedShape(aDraft(), anImage())).toMatchObject({ vcpus: 1, memMb: 96, diskGb: 1 })
  })

  it('takes sizes left empty from the defaults where the image has no opinion', () => {
    expect(checkedShape(aDraft(), undefined)).toMatchObject({ vcpus: 1, memMb: 512, diskGb: 10 })
  })

  it('finds nothing wrong with a plain request', () => expect(problems({})).toEqual([]))

  it('calls fields as the form calls them', () => {
    expect(problems({ memMb: '0' })).toEqual(['mem_mb: memory must be at least 1'])
  })

  it.each([
    ['a name that is taken', { name: 'taken' }, 'name'],
    ['a name like an option', { name: '-rf' }, 'name'],
    ['a name like a command', { name: '$(id)' }, 'name'],
    ['a name of 64 letters', { name: 'x'.repeat(64) }, 'name'],
    ['no name', { name: '' }, 'name'],
    ['half a processor', { vcpus: '0.5' }, 'vcpus'],
    ['words for a size', { diskGb: 'ten' }, 'disk_gb'],
    ['something that is no key', { sshKeys: 'hello' }, 'ssh_authorized_keys'],
    ['user-data past 64 KiB', { cloudInit: `#!/bin/sh\n${'x'.repeat(65536)}` }, 'cloud_init'],
  ])('refuses %s beside its field', (_what, changes, field) => {
    expect(problems(changes)[0]).toMatch(new RegExp(`^${field}:`))
  })

  it('offers a name that is free', () => expect(freeName(new Set(['vm-1', 'vm-2']))).toBe('vm-3'))

  it('writes the same request as a command line, quoted for a shell', () => {
    const draft = aDraft({ name: "o'k", vcpus: '2', cloudInit: '#!/bin/sh', autostart: true })
    expect(createVmCli(draft, { host: 'rack2-07', image: '' })).toBe(
      `eitri vm create 'o'\\''k' --host rack2-07 --vcpus 2 --cloud-init 'o'\\''k.yaml'`,
    )
  })
})

describe('the whole of it as a script', () => {
  const names = { host: 'rack2-07', image: 'debian-12' }

  it('writes files first, byte for byte, and publishes ports behind', () => {
    const draft = aDraft({
      cloudInit: "#cloud-config\r\nhostname: it's\n",
      sshKeys: 'ssh-ed25519 AAAA me',
      labels: 'app=shop, prod',
      autostart: true,
      protected: true,
      ports: [{ guestPort: '443', hostPort: '8443', protocol: 'tcp' }],
    })
    expect(createVmScript(draft, names)).toBe(
      [
        "printf %s '#cloud-config\r\nhostname: it'\\''s\n' > web-1.yaml",
        "printf '%s\\n' 'ssh-ed25519 AAAA me' > web-1.pub",
        'eitri vm create web-1 --host rack2-07 --image debian-12 --ssh-key web-1.pub --cloud-init web-1.yaml --label app=shop --label prod= --protect',
        'eitri port publish web-1 443 --host-port 8443',
        '',
      ].join('\n'),
    )
  })

  it('of a plain VM is one line', () =>
    expect(createVmScript(aDraft({ autostart: true }), { host: '', image: '' })).toBe('eitri vm create web-1\n'))
})

describe('ports to publish', () => {
  it.each([
    [[{ guestPort: '0', hostPort: '', protocol: 'tcp' as const }], 'ports.0'],
    [[{ guestPort: '80', hostPort: '70000', protocol: 'tcp' as const }], 'ports.0'],
    [
      [
        { guestPort: '80', hostPort: '80', protocol: 'tcp' as const },
        { guestPort: '81', hostPort: '80', protocol: 'tcp' as const },
      ],
      'ports.1',
    ],
  ])('are checked beside their fields: %j', (ports, field) =>
    expect(problems({ ports })[0]).toMatch(new RegExp(`^${field}:`)),
  )

  it('may be the same for tcp and udp, and empty rows are nothing', () =>
    expect(
      problems({
        ports: [
          { guestPort: '53', hostPort: '53', protocol: 'tcp' },
          { guestPort: '53', hostPort: '53', protocol: 'udp' },
          { guestPort: '', hostPort: '', protocol: 'tcp' },
        ],
      }),
    ).toEqual([]))
})

describe('user-data in the create form', () => {
  const text = '#cloud-config\nhostname: no\nruncmd: x\n'
  const found = checkUserData(text)

  it('is refused with the line of its first error, and not for warnings', () => {
    expect(createVmProblems(aDraft({ cloudInit: text }), anImage(), new Set(), found)).toEqual([
      { field: 'cloud_init', problem: expect.stringMatching(/^line 3: "runcmd" must be a list/) },
    ])
    const warnings = found.filter((f) => f.severity !== 'error')
    expect(createVmProblems(aDraft({ cloudInit: text }), anImage(), new Set(), warnings)).toEqual([])
  })

  it('is summed up in words', () => {
    expect(findingsSummary(found)).toBe('1 error, 1 warning')
    expect(findingsSummary([])).toBe('')
  })

  it('is gone through line by line, around both ends', () => {
    const lines = [1, 2, 3].flatMap((line) => [
      nextFinding(found, line, false)?.line,
      nextFinding(found, line, true)?.line,
    ])
    expect(lines).toEqual([2, 3, 3, 3, 2, 2])
  })

  it('has lines that begin and end where an editor has them', () => {
    expect(
      [1, 2, 3, 4, 9].map((line) => lineRange(text, line)).map(({ start, end }) => text.slice(start, end)),
    ).toEqual(['#cloud-config', 'hostname: no', 'runcmd: x', '', ''])
  })

  it('is mended from its end on, so that no edit moves another', () => {
    const edits = [
      { start: 24, end: 24, text: "'" },
      { start: 26, end: 26, text: "'" },
    ]
    expect(inOrder(edits).map(({ start }) => start)).toEqual([26, 24])
  })
})
