import { mkdirSync, readFileSync, realpathSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { logFile } from '../../../../src/main/control/log-file.ts'
import { controlPaths } from '../../../../src/main/control/node-ports.ts'
import { aTempDir, faultOf } from './a-store.ts'

describe('paths of a control plane', () => {
  it('stand in the data folder of the person', () => {
    expect(controlPaths({ env: { HOME: '/home/ana' } })).toMatchObject({
      dataDir: '/home/ana/.local/share/eitri',
      database: '/home/ana/.local/share/eitri/eitri.db',
      apiSocket: '/home/ana/.local/share/eitri/run/api.sock',
      localAgentState: '/home/ana/.local/share/eitri/agent',
      localAgentSocket: '/home/ana/.local/share/eitri/run/agent.sock',
      sshDir: '/home/ana/.ssh',
    })
    expect(controlPaths({ env: { HOME: '/home/ana', XDG_DATA_HOME: '/data' } }).dataDir).toBe('/data/eitri')
    expect(controlPaths({ dataDir: '/x/y', env: { HOME: '/home/ana', XDG_DATA_HOME: '/data' } }).dataDir).toBe('/x/y')
  })

  it('put the sockets into the runtime folder, one pair per data folder', () => {
    const env = { HOME: '/home/ana', XDG_RUNTIME_DIR: '/run/user/1000' }
    const [one, two] = [controlPaths({ dataDir: '/a', env }), controlPaths({ dataDir: '/b', env })]
    expect(one.apiSocket).toMatch(/^\/run\/user\/1000\/eitri\/[0-9a-f]{8}\.sock$/)
    expect(one.localAgentSocket).toMatch(/^\/run\/user\/1000\/eitri\/[0-9a-f]{8}-agent\.sock$/)
    expect(new Set([one.apiSocket, one.localAgentSocket, two.apiSocket, two.localAgentSocket]).size).toBe(4)
    expect(controlPaths({ dataDir: '/a/', env }).apiSocket).toBe(one.apiSocket)
  })

  it('are the same through a symbolic link, of a folder that is there and of one that is not yet', () => {
    const dir = realpathSync(aTempDir())
    mkdirSync(join(dir, 'data'))
    symlinkSync('data', join(dir, 'link'))
    const env = { HOME: '/home/ana', XDG_RUNTIME_DIR: '/run/user/1000' }
    for (const name of ['', 'fleet/new']) {
      const [direct, linked] = ['data', 'link'].map((top) => controlPaths({ dataDir: join(dir, top, name), env }))
      expect(linked).toEqual(direct)
      expect(direct?.dataDir).toBe(join(dir, 'data', name))
    }
  })

  it('refuse a folder too deep for a socket, in words', () => {
    const dataDir = `/${'d'.repeat(99)}`
    const fault = faultOf(() => controlPaths({ dataDir, env: { HOME: '/h' } }))
    expect(fault).toMatchObject({ code: 'input/invalid', params: { field: 'data_dir', value: dataDir } })
    expect(fault.params['problem']).toContain('at most 107')
    expect(controlPaths({ dataDir, env: { HOME: '/h', XDG_RUNTIME_DIR: '/run/user/1' } }).dataDir).toBe(dataDir)
  })
})

describe('log file', () => {
  it('appends for its owner alone and sets itself aside when it is full', () => {
    const path = join(aTempDir(), 'log', 'control.log')
    const write = logFile(path, 20)
    for (const line of ['first line\n', 'second line\n', 'third\n']) write(line)
    expect(readFileSync(path, 'utf8')).toBe('second line\nthird\n')
    expect(readFileSync(`${path}.1`, 'utf8')).toBe('first line\n')
    expect(statSync(path).mode & 0o777).toBe(0o600)
  })

  it('goes on where the process before stopped, and says when it cannot be opened', () => {
    const dir = aTempDir()
    logFile(join(dir, 'a.log'))('one\n')
    logFile(join(dir, 'a.log'))('two\n')
    expect(readFileSync(join(dir, 'a.log'), 'utf8')).toBe('one\ntwo\n')
    mkdirSync(join(dir, 'folder.log'))
    expect(faultOf(() => logFile(join(dir, 'folder.log'))).code).toBe('store/unavailable')
  })
})
