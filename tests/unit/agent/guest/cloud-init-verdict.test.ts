import { describe, expect, it } from 'vitest'
import {
  CLOUD_INIT_FILES,
  cloudInitVerdict,
  filesIn,
  refusedVendorData,
} from '../../../../src/agent/guest/cloud-init-verdict.ts'

const { status, result, disabled, program } = CLOUD_INIT_FILES
const SECRET = 'hunter2-of-the-person'

const stage = (errors: string[] = [], recoverable?: Record<string, string[]>) => ({
  errors,
  start: 1,
  finished: 2,
  ...(recoverable ? { recoverable_errors: recoverable } : {}),
})
const statusJson = (change: Record<string, unknown> = {}) =>
  JSON.stringify({
    v1: {
      datasource: 'DataSourceNoCloud [seed=/dev/vdb]',
      stage: null,
      ...{ 'init-local': stage(), init: stage(), 'modules-config': stage(), 'modules-final': stage() },
      ...change,
    },
  })
const resultJson = (errors: string[] = []) => JSON.stringify({ v1: { datasource: 'DataSourceNoCloud', errors } })
const said = (files: Record<string, string>, log?: string) => cloudInitVerdict(new Map(Object.entries(files)), log)

describe('files as head prints them', () => {
  it('are told apart by their names, and those that are not there are missing', () => {
    const text = '==> /a <==\none\n==> /c <==\ntwo\n\n==> /b <==\nthree\n'
    expect([...filesIn(text, ['/a', '/b', '/c'])]).toEqual([
      ['/a', 'one'],
      ['/c', 'two\n'],
      ['/b', 'three\n'],
    ])
    expect(filesIn('', ['/a']).size).toBe(0)
    expect(filesIn('==> /a <==\n', ['/a', '/b']).get('/a')).toBe('')
  })
})

describe('cloud-init', () => {
  it('is absent where nothing of it is there, and unknown where it has not begun', () => {
    expect(said({}).state).toBe('absent')
    expect(said({ [program]: '#!/usr/bin/python3' }).state).toBe('')
    expect(said({ [program]: '', [status]: 'half a fi' }).state).toBe('')
  })

  it('is disabled where it says so', () => {
    expect(said({ [disabled]: '', [program]: '' }).state).toBe('disabled')
  })

  it('runs until it leaves a result, whatever failed already', () => {
    const verdict = said({ [status]: statusJson({ init: stage(["('disk_setup', RuntimeError('x'))"]) }) })
    expect(verdict).toEqual({
      state: 'running',
      modules: [{ name: 'disk_setup', stage: 'init', result: 'failed', detail: 'RuntimeError' }],
    })
  })

  it('is done without a word when all went well', () => {
    const log = "x - util.py[DEBUG]: Cloud-init v. 22.4.2 running 'modules:final'\nx - main.py[INFO]: fine\n"
    expect(said({ [status]: statusJson(), [result]: resultJson() }, log)).toEqual({ state: 'done', modules: [] })
  })

  it('names each module that failed, its stage and what is its own of the words', () => {
    const errors = [
      "('scripts_user', RuntimeError('Runparts: 1 failures (runcmd) in 1 attempted commands'))",
      `('write-files', TypeError("Unable to write ${SECRET} to [${SECRET}]"))`,
    ]
    expect(said({ [status]: statusJson({ 'modules-final': stage(errors) }), [result]: resultJson(errors) })).toEqual({
      state: 'error',
      modules: [
        {
          name: 'scripts_user',
          stage: 'modules-final',
          result: 'failed',
          detail: 'RuntimeError: Runparts: 1 failures (runcmd) in 1 attempted commands',
        },
        { name: 'write_files', stage: 'modules-final', result: 'failed', detail: 'TypeError' },
      ],
    })
  })

  it('is judged by its result where its status cannot be read', () => {
    expect(said({ [result]: resultJson(["('runcmd', ValueError('x'))"]) }).state).toBe('error')
  })

  it('is degraded by warnings, of newer releases in its status and of older ones in its log', () => {
    const recoverable = { WARNING: [`Invalid cloud-config provided: ${SECRET}`], DEPRECATED: ['gone in 25.1'] }
    expect(said({ [status]: statusJson({ init: stage([], recoverable) }), [result]: resultJson() })).toEqual({
      state: 'degraded',
      modules: [{ name: 'cloud_init', stage: 'init', result: 'warned', detail: 'Invalid cloud-config' }],
    })
    const log = [
      "2026-01-01 00:00:00,000 - util.py[DEBUG]: Cloud-init v. 22.4.2 running 'init-local' at now",
      `2026-01-01 00:00:01,000 - cc_users_groups.py[WARNING]: cannot make user ${SECRET}`,
      "2026-01-01 00:00:02,000 - util.py[WARNING]: Running module locale (<module 'cloudinit.config.cc_locale'>) failed",
    ].join('\n')
    expect(said({ [status]: statusJson(), [result]: resultJson() }, log)).toEqual({
      state: 'degraded',
      modules: [
        { name: 'users_groups', stage: '', result: 'warned', detail: '' },
        { name: 'locale', stage: '', result: 'warned', detail: 'it failed' },
      ],
    })
  })

  it('of a release that does not count its warnings is done all the same, and names them', () => {
    const log = [
      "a - util.py[DEBUG]: Cloud-init v. 22.4.2 running 'init-local' at now",
      "b - schema.py[WARNING]: Invalid cloud-config provided: Please run 'sudo cloud-init schema --system'",
    ].join('\n')
    expect(said({ [status]: statusJson(), [result]: resultJson() }, log)).toEqual({
      state: 'done',
      modules: [{ name: 'schema', stage: '', result: 'warned', detail: 'Invalid cloud-config' }],
    })
  })

  it('is not held to what it warned of at an earlier boot', () => {
    const log = `a - x.py[WARNING]: old\nb - util.py[DEBUG]: Cloud-init v. 22.4.2 running 'init-local' at now\n`
    expect(said({ [status]: statusJson(), [result]: resultJson() }, log).state).toBe('done')
  })

  it('never repeats what it was given', () => {
    const nasty = [
      `('runcmd', TypeError('Unable to shellify ${SECRET}'))`,
      `${SECRET}`,
      `Failed to run ${SECRET}`,
      `('${SECRET} x', E('${SECRET}'))`,
    ]
    const log = `x - cc_a.py[WARNING]: ${SECRET}\nx - cc_b.py[ERROR]: Running module ${SECRET} x (y) failed`
    const files = { [status]: statusJson({ init: stage(nasty, { WARNING: nasty }) }), [result]: resultJson(nasty) }
    expect(JSON.stringify(said(files, log))).not.toContain(SECRET)
    expect(JSON.stringify(said({ [result]: resultJson(nasty) }, log))).not.toContain(SECRET)
  })

  it.each(['[]', '{"v1": 3}', '{"v1": {"init": {"errors": "no"}}}', '{', '"x"'])(
    'that left nonsense (%s) breaks nothing',
    (text) => {
      expect(() => said({ [status]: text, [result]: text })).not.toThrow()
    },
  )

  it('names at most 32 modules, each shortly', () => {
    const many = Array.from({ length: 100 }, (_, i) => `('m${i}${'x'.repeat(200)}', E('x'))`)
    const { modules } = said({ [status]: statusJson({ init: stage(many) }), [result]: resultJson() })
    expect(modules).toHaveLength(32)
    for (const { name } of modules) expect(name.length).toBeLessThanOrEqual(64)
  })

  it('says when user-data turned vendor data off', () => {
    expect(refusedVendorData('x - stages.py[DEBUG]: vendordata consumption is disabled.\n')).toBe(true)
    expect(refusedVendorData('x - stages.py[DEBUG]: vendor data will be consumed\n')).toBe(false)
  })
})
