import { existsSync } from 'node:fs'
import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { findBrowser, openBrowserWindow, writeLaunchPage } from '../../../../src/main/serving/browser-window.ts'

let dir: string

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'eitri-browser-'))
})
afterEach(() => rm(dir, { recursive: true, force: true }))

async function program(name: string, script: string): Promise<string> {
  const file = join(dir, name)
  await writeFile(file, `#!/bin/sh\n${script}\n`)
  await chmod(file, 0o755)
  return file
}

describe('the browser window', () => {
  it('needs a display and a Chromium, and says which is missing', async () => {
    expect(findBrowser({ PATH: dir }, 'linux')).toEqual({ why: 'There is no display here.' })
    expect(findBrowser({ PATH: dir, DISPLAY: ':1' }, 'linux')).toEqual({ why: 'There is no Chromium here.' })
    const path = await program('chromium', 'true')
    expect(findBrowser({ PATH: `/nonexistent:${dir}`, WAYLAND_DISPLAY: 'w' }, 'linux')).toEqual({ path })
  })

  it('opens a page only this user can read', async () => {
    const page = await writeLaunchPage(join(dir, 'new'), 'http://127.0.0.1:1/#t=secret</script>')
    expect((await stat(page)).mode & 0o777).toBe(0o600)
    expect((await stat(dirname(page))).mode & 0o777).toBe(0o700)
    expect(await readFile(page, 'utf8')).toContain('location.replace("http://127.0.0.1:1/#t=secret\\u003c/script>")')
  })

  it('shows the token in no argument and keeps a profile of its own', async () => {
    const seen = join(dir, 'seen')
    await program('chromium', `echo "$@" > ${seen}.new; mv ${seen}.new ${seen}`)
    const env = { PATH: `${dir}:/usr/bin:/bin`, DISPLAY: ':1' }
    expect(await openBrowserWindow('http://127.0.0.1:1/#t=secret', dir, env)).toBeUndefined()
    await expect.poll(() => existsSync(seen)).toBe(true)
    const args = await readFile(seen, 'utf8')
    expect(args).toContain(`--user-data-dir=${dir}/profile`)
    expect(args).toContain(`--app=file://${dir}/launch.html`)
    expect(args).not.toContain('secret')
  })
})
