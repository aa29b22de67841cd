import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Desk } from '../support/desk.ts'
import { SmallDisk } from '../support/small-disk.ts'

describe('what a person has written to a disk that is full', () => {
  const desk = new Desk('full')
  let disk: SmallDisk
  beforeAll(async () => {
    disk = await SmallDisk.mount('tmpfs', 64 * 1024)
    await disk.fill()
    await desk.start()
  })
  afterAll(async () => {
    await desk[Symbol.asyncDispose]()
    await disk[Symbol.asyncDispose]()
  })

  it('is no support bundle: that the disk is full is said, and nothing is left', async () => {
    await expect(desk.client.support.writeBundle({ path: join(disk.dir, 'b.tar.gz') })).rejects.toThrow(
      /The support bundle was not written to .*\(the disk is full\)/,
    )
    expect(readdirSync(disk.dir)).toEqual(['ballast'])
  })
})
