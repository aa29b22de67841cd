import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { configLines, listConfigHosts } from '../../../../../../src/main/control/hosts/ssh/config-hosts.ts'

describe('the hosts of an SSH configuration', () => {
  let dir: string
  const write = (name: string, text: string) => {
    fs.mkdirSync(path.dirname(path.join(dir, name)), { recursive: true })
    fs.writeFileSync(path.join(dir, name), text)
  }
  beforeEach(() => {
    dir = fs.mkdtempSync(path.join(os.tmpdir(), 'eitri-ssh-'))
  })
  afterEach(() => fs.rmSync(dir, { recursive: true }))

  it('are the names a person can pick, in the order written', async () => {
    write('config', 'Host web db\n  User ops\nHost *.lab !secret\nHost web\nHost rack1\nMatch host x\n')
    expect(await listConfigHosts(dir)).toEqual({ hosts: ['web', 'db', 'rack1'], matchExec: false })
  })

  it('come from included files too, by pattern, and a loop ends', async () => {
    write('config', 'Include conf.d/*.conf\nInclude missing\nHost last\n')
    write('conf.d/b.conf', 'Host two\n')
    write('conf.d/a.conf', 'Host one\nInclude ../config\nInclude config\n')
    expect((await listConfigHosts(dir)).hosts).toEqual(['one', 'two', 'last'])
  })

  it('are read with tabs, =, quotes, CRLF and a byte order mark', async () => {
    write('config', '\ufeffHost\t"rack 1"\r\nhost=rack2\r\nHOST = rack3 # the third\r\n')
    expect((await listConfigHosts(dir)).hosts).toEqual(['rack 1', 'rack2', 'rack3'])
  })

  it('say that the configuration runs commands', async () => {
    write('config', 'Match originalhost x exec "touch /tmp/ran"\n')
    expect((await listConfigHosts(dir)).matchExec).toBe(true)
  })

  it('are none when there is no file', async () => {
    expect(await listConfigHosts(path.join(dir, 'nowhere'))).toEqual({ hosts: [], matchExec: false })
  })

  it('keep a command of Match exec together', () => {
    expect(configLines('Match exec "a b" host c')).toEqual([['match', 'exec', 'a b', 'host', 'c']])
  })
})
