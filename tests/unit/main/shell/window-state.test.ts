import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { keepWindow, restoredWindow } from '../../../../src/main/shell/window-state.ts'

const SCREEN = [{ x: 0, y: 0, width: 1920, height: 1080 }]
const DEFAULT = { width: 1280, height: 800, maximized: false }
let dir: string
let file: string

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'eitri-window-'))
  file = join(dir, 'window.json')
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

describe('a window', () => {
  it('opens where the last one was, as it was', () => {
    keepWindow(file, { x: 100, y: 50, width: 900, height: 700, maximized: true })
    expect(restoredWindow(file, SCREEN)).toEqual({ x: 100, y: 50, width: 900, height: 700, maximized: true })
    expect(readdirSync(dir)).toEqual(['window.json'])
    expect(statSync(file).mode & 0o777).toBe(0o600)
  })

  it('opens where the desktop puts it when that screen is gone, in its size', () => {
    keepWindow(file, { x: 4000, y: 50, width: 900, height: 700, maximized: false })
    expect(restoredWindow(file, SCREEN)).toEqual({ width: 900, height: 700, maximized: false })
  })

  it('is never smaller than can be used', () => {
    keepWindow(file, { x: 0, y: 0, width: 10, height: 10, maximized: false })
    expect(restoredWindow(file, SCREEN)).toMatchObject({ width: 720, height: 480 })
  })

  it.each(['', 'null', '{}', '{"x":1e99,"y":0,"width":1,"height":1,"maximized":false}', 'x'.repeat(5_000)])(
    'has its default size when what was kept is %j',
    (text) => {
      writeFileSync(file, text)
      expect(restoredWindow(file, SCREEN)).toEqual(DEFAULT)
    },
  )

  it('costs nothing where its place cannot be kept', () => {
    keepWindow(join(dir, 'gone', 'window.json'), { x: 0, y: 0, width: 900, height: 700, maximized: false })
    expect(restoredWindow(join(dir, 'gone', 'window.json'), SCREEN)).toEqual(DEFAULT)
  })
})
