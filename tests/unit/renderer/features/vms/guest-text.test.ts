import { describe, expect, it } from 'vitest'
import { masked, stageViews } from '../../../../../src/renderer/features/vms/guest-text.ts'

describe('what a guest wrote, as it is shown', () => {
  it.each([
    ['password=hunter2 refused', 'password=••• refused'],
    ['"db_password": "hunter2"', '"db_password": •••'],
    ['API_KEY: abc123', 'API_KEY: •••'],
    ['--token s3cr3t', '--token •••'],
    ['Authorization: Basic b3BzOng=', 'Authorization: Basic •••'],
    ['git clone https://ops:hunter2@git.test/x', 'git clone https://ops:•••@git.test/x'],
    ['curl -u ops:hunter2 https://repo.test', 'curl -u ops:••• https://repo.test'],
    ['curl -u ops:hunter2secret https://repo.test: exit code 127', 'curl -u ops:••• https://repo.test: exit code 127'],
    ['key 0123456789abcdef0123456789abcdef', 'key •••'],
    ['-----BEGIN OPENSSH PRIVATE KEY-----\nabc\n-----END OPENSSH PRIVATE KEY-----', '•••'],
  ])('hides the secret of %j', (text, shown) => expect(masked(text)).toBe(shown))

  it.each(['exit code 127', 'unsupported host key type: dsa', '/var/lib/cloud/instance/scripts/runcmd'])(
    'leaves %j as it is',
    (text) => expect(masked(text)).toBe(text),
  )
})

describe('the stages of cloud-init', () => {
  const words = (told: Parameters<typeof stageViews>[0]) =>
    stageViews(told).map(({ stage, text }) => `${stage}: ${text}`)

  it('say how many modules failed or warned in each', () => {
    const modules = [
      { stage: 'modules-final', result: 'failed' },
      { stage: 'modules-final', result: 'warned' },
      { stage: 'init', result: 'warned' },
    ]
    expect(words({ cloudInit: 'error', modules })).toEqual([
      'init-local: no trouble reported',
      'init: 1 warned',
      'modules-config: no trouble reported',
      'modules-final: 1 failed, 1 warned',
    ])
  })

  it('are called well only once cloud-init is over', () => {
    expect(new Set(stageViews({ cloudInit: 'running', modules: [] }).map(({ text }) => text))).toEqual(
      new Set(['not said yet']),
    )
  })

  it('have room for one that only the guest knows', () => {
    expect(words({ cloudInit: 'error', modules: [{ stage: 'vendor', result: 'failed' }] })).toContain(
      'vendor: 1 failed',
    )
  })
})
