import { describe, expect, it } from 'vitest'
import { findFault } from '../../../src/ipc/faults.ts'
import { check, problemsOf, type RuleName, rules } from '../../../src/ipc/rules.ts'

const vm = (over: Record<string, unknown> = {}) => ({
  name: 'web-12',
  host: '',
  image: '',
  imageUrl: '',
  imageSha256: '',
  vcpus: 1,
  memMb: 96,
  diskGb: 1,
  cloudInit: new Uint8Array(),
  sshAuthorizedKeys: [],
  network: '',
  backend: '',
  power: 'running',
  labels: {},
  vmId: '',
  ...over,
})
const ssh = (over: Record<string, unknown> = {}) => ({
  host: 'rack2-07',
  user: '',
  identityFile: '',
  jump: '',
  acceptHostKey: '',
  password: '',
  sudoPassword: '',
  passphrase: '',
  ...over,
})
const faultOf = (run: () => unknown) => {
  try {
    run()
  } catch (error) {
    return findFault(error)
  }
  throw new Error('nothing was raised')
}

/** Fields that rules have, each given something that cannot be. */
const FIELDS = [
  ...['vm', 'host', 'image', 'name', 'newName', 'url', 'sha256', 'arch', 'kind', 'vcpus', 'memMb', 'diskGb', 'labels'],
  ...['action', 'user', 'reason', 'serial', 'description', 'limits', 'port', 'guestPort', 'hostPort', 'path', 'spanS'],
  ...['cloudInit', 'sshAuthorizedKeys', 'login', 'publicKey', 'clockPolicy', 'autostartDelayS', 'requestId', 'limit'],
]

describe('rules', () => {
  it('let a request through that keeps them all', () => {
    expect(problemsOf('createVm', vm())).toEqual([])
    expect(check('createVm', vm()).name).toBe('web-12')
  })

  it.each(['-rf', '$(id)', 'a'.repeat(64)])('name the field, the value and the reason for the VM name %s', (name) => {
    const fault = faultOf(() => check('createVm', vm({ name })))
    expect(fault?.code).toBe('input/invalid')
    expect(fault?.params['field']).toBe('name')
    expect(fault?.params['value']).toBe(name)
    expect(fault?.params['problem']).toContain('63')
  })

  it.each(['vcpus', 'memMb', 'diskGb'])('CRT-05: refuse %s below 1 after defaults', (field) => {
    for (const value of [0, -1, 1.5]) expect(problemsOf('createVm', vm({ [field]: value }))).toHaveLength(1)
  })

  it('want image URL and digest as a pair', () => {
    const [problem] = problemsOf('createVm', vm({ imageUrl: 'https://images.example/a.qcow2' }))
    expect(problem).toEqual({ field: 'image_sha256', problem: expect.stringContaining('both or neither') })
  })

  it('say invalid image_sha256 for a digest that is none', () => {
    const [problem] = problemsOf('createVm', vm({ imageUrl: 'https://images.example/a', imageSha256: 'abc' }))
    expect(problem?.problem).toContain('invalid image_sha256')
  })

  it('refuse an image by name and by URL at once', () => {
    const both = vm({ image: 'tiny', imageUrl: 'https://images.example/a', imageSha256: '0'.repeat(64) })
    expect(problemsOf('createVm', both)).toHaveLength(1)
  })

  it('refuse user-data over 64 KiB', () => {
    expect(problemsOf('createVm', vm({ cloudInit: new Uint8Array(64 * 1024 + 1) }))).toHaveLength(1)
  })

  it('refuse a key line that would break out of its file', () => {
    expect(problemsOf('createVm', vm({ sshAuthorizedKeys: ['ssh-ed25519 AAAA ok'] }))).toEqual([])
    expect(problemsOf('createVm', vm({ sshAuthorizedKeys: ['ssh-ed25519 AAAA x\nruncmd: [id]'] }))).toHaveLength(1)
  })

  it.each(['-oProxyCommand=id', 'a b', 'a;id', '$(id)', ''])('refuse %j as an SSH host', (host) => {
    expect(problemsOf('sshWay', ssh({ host })).length).toBeGreaterThan(0)
  })

  it.each(['rack2-07', '10.0.2.7', '[fe80::1%eth0]', 'fe80::1'])('take %s as an SSH host', (host) => {
    expect(problemsOf('sshWay', ssh({ host }))).toEqual([])
  })

  it.each([0, 65536, 2.5])('refuse port %d', (port) => {
    expect(problemsOf('sshWay', ssh({ port }))).toHaveLength(1)
  })

  it('never put a secret into a fault', () => {
    const fault = faultOf(() => check('sshWay', ssh({ password: 's3cret'.repeat(300) })))
    expect(JSON.stringify(fault?.toData())).not.toContain('s3cret')
  })

  it('say what is too long or too much in their own words, of every rule', () => {
    const long = 'x'.repeat(65_536)
    const said = (Object.keys(rules) as RuleName[]).flatMap((name) =>
      [long, -1, 1e300, [long], { [long]: long }, null].flatMap((bad) =>
        problemsOf(name, Object.fromEntries(FIELDS.map((field) => [field, bad]))),
      ),
    )
    expect(said.length).toBeGreaterThan(100)
    expect(said.filter(({ problem }) => /Too (big|small)|Invalid|expected|Unrecognized/.test(problem))).toEqual([])
  })
})
