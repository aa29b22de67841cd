import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { Desk } from '../support/desk.ts'

it('an export of the trail without an app says so as every command does, and leaves no file', async () => {
  await using desk = new Desk()
  const file = join(desk.paths.dataDir, '..', 'trail.jsonl')
  const { code, err } = await desk.eitri('audit', '--export', file)
  expect([code, err]).toEqual([3, expect.stringMatching(/^The app does not answer on .*sock\. Nothing was changed\./)])
  expect(existsSync(file)).toBe(false)
})
