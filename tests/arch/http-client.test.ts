import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ROOT, sourceFiles } from './source-files.ts'

/** The global as a value or a call: no method of that name, no declaration of one. */
const GLOBAL_FETCH = /\bundici\b|globalThis\.fetch\b|(?<![.#\w'"])fetch\s*(?:[,})\]]|\((?!\w+: ))/

describe('the HTTP client of Node.js that can end the process', () => {
  it.each(['src/agent', 'src/main', 'src/ipc'])('is not used in %s', (folder) => {
    const files = sourceFiles(folder)
    expect(files.length).toBeGreaterThan(5)
    expect(files.filter((path) => GLOBAL_FETCH.test(readFileSync(join(ROOT, path), 'utf8')))).toEqual([])
  })

  it.each(['await fetch(url)', 'open(dir, { fetch, clock })', 'get(fetch)', 'globalThis.fetch', "from 'undici'"])(
    'is known by %j',
    (text) => expect(text).toMatch(GLOBAL_FETCH),
  )

  it.each(['images.fetch(url)', 'async fetch(url: string)', "'where hosts fetch it'"])('is not %j', (text) =>
    expect(text).not.toMatch(GLOBAL_FETCH),
  )
})
