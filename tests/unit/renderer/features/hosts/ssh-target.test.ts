import { describe, expect, it } from 'vitest'
import { draftProblems, EMPTY_DRAFT } from '../../../../../src/renderer/features/hosts/add-host-draft.ts'
import { nameFromTarget, parseSshTarget } from '../../../../../src/renderer/features/hosts/ssh-target.ts'

describe('a host as a person types it', () => {
  it.each([
    ['rack2-07', { host: 'rack2-07', user: '', port: undefined }],
    ['ops@rack2-07', { host: 'rack2-07', user: 'ops', port: undefined }],
    ['ops@10.0.2.7:2222', { host: '10.0.2.7', user: 'ops', port: 2222 }],
    ['fe80::1', { host: 'fe80::1', user: '', port: undefined }],
    ['[fe80::1]:22', { host: 'fe80::1', user: '', port: 22 }],
    ['ada@example@rack', { host: 'rack', user: 'ada@example', port: undefined }],
    ['  rack  ', { host: 'rack', user: '', port: undefined }],
  ])('%s is taken apart', (text, target) => expect(parseSshTarget(text)).toEqual(target))

  it.each([
    ['Rack2-07.example.test', 'rack2-07'],
    ['10.0.2.7', 'host-10-0-2-7'],
    ['my_box', 'my-box'],
  ])('%s gives the name %s', (host, name) => expect(nameFromTarget(host)).toBe(name))

  const problems = (target: string, name?: string) =>
    draftProblems({ ...EMPTY_DRAFT, target, name }, new Set(['taken'])).map((p) => p.field)

  it.each([
    ['-oProxyCommand=id', 'ok', ['host']],
    ['$(id)', 'ok', ['host']],
    ['rack:70000', 'ok', ['port']],
    ['rack', '-rf', ['name']],
    ['rack', 'x'.repeat(64), ['name']],
    ['rack', 'taken', ['name']],
    ['ops@rack:22', 'ok', []],
  ])('%s named %s has problems in %s', (target, name, fields) => expect(problems(target, name)).toEqual(fields))
})
