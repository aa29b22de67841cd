import { describe, expect, it } from 'vitest'
import { checkCloudInit } from '../../../../../src/renderer/features/vms/cloud-init-check.ts'
import {
  type CreateVmDraft,
  checkedShape,
  createVmCli,
  createVmProblems,
  freeName,
} from '../../../../../src/renderer/features/vms/create-vm-draft.ts'
import { anImage } from '../../../../support/fake-fleet/rows.ts'

const aDraft = (changes: Partial<CreateVmDraft> = {}): CreateVmDraft => ({
  name: 'web-1',
  host: '',
  image: '',
  vcpus: '',
  memMb: '',
  diskGb: '',
  sshKeys: '',
  cloudInit: '',
  autostart: false,
  clockPolicy: 'auto',
  ...changes,
})
const problems = (changes: Partial<CreateVmDraft>) =>
  createVmProblems(aDraft(changes), anImage(), new Set(['taken'])).map((p) => `${p.field}: ${p.problem}`)

describe('the create form', () => {
  it('asks for a clock policy only where one was chosen', () => {
    expect(checkedShape(aDraft({ clockPolicy: 'host-only' }), anImage())).toMatchObject({ clockPolicy: 'host-only' })
    expect(createVmCli(aDraft({ clockPolicy: 'host-only' }), { host: '', image: '' })).toMatch(
      / --clock-policy host-only$/,
    )
    expect(createVmCli(aDraft(), { host: '', image: '' })).not.toContain('clock')
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
      `eitri vm create 'o'\\''k' --host rack2-07 --vcpus 2 --cloud-init 'o'\\''k.yaml' --autostart`,
    )
  })
})

describe('a look at user-data', () => {
  it.each([
    ['', undefined],
    ['#cloud-config\npackages: [nginx]\n', undefined],
    ['#!/bin/sh\nset -e\n', undefined],
    ['## template: jinja\n#cloud-config\n', undefined],
    ['\ufeff#cloud-config\n', 'line 1: starts with a byte order mark; cloud-init would ignore it all'],
    ['\n#cloud-config\n', 'line 1: is blank; the first line must be the header'],
    ['packages: [nginx]\n', 'line 1: must be a header such as #cloud-config or #!/bin/sh'],
    ['#!/bin/sh\r\nset -e\r\n', 'a script with Windows line ends does not run'],
    ['#cloud-config\na:\n\tb: 1\n', 'line 3: indent with spaces, not with a tab'],
  ])('%j → %s', (text, problem) => expect(checkCloudInit(text)).toBe(problem))

  it('names the line YAML cannot be read at', () => {
    expect(checkCloudInit('#cloud-config\na: [1\nb: 2\n')).toMatch(/^line \d: /)
  })

  it('names the line of a key given twice', () => {
    expect(checkCloudInit('#cloud-config\na: 1\nb: 2\na: 3\n')).toMatch(/^line 4: .*unique/)
  })
})
