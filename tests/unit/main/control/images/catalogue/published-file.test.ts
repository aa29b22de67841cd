import { join } from 'node:path'
import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import type { HttpsRequest } from '../../../../../../src/main/control/images/catalogue/https-get.ts'
import { download } from '../../../../../../src/main/control/images/catalogue/published-file.ts'
import { aTempDir } from '../../a-store.ts'

const URL_ = 'https://images.example.test/some.img'
const answering =
  (body: () => Readable): HttpsRequest =>
  async () => ({ status: 200, headers: {}, body: body() })
const downloading = (body: () => Readable, progress = () => {}) =>
  download(answering(body), URL_, join(aTempDir(), 'image'), { signal: new AbortController().signal, progress })

describe('a download', () => {
  it('that breaks on this side is not blamed on its publisher', async () => {
    const own = new Error('this disk does not answer')
    const broken = () => {
      throw own
    }
    await expect(downloading(() => Readable.from([Buffer.alloc(10)]), broken)).rejects.toBe(own)
  })

  it('that the publisher cuts is said to be cut', async () => {
    const cut = () =>
      Readable.from(
        (async function* () {
          yield Buffer.alloc(10)
          throw new Error('reset')
        })(),
      )
    await expect(downloading(cut)).rejects.toMatchObject({ code: 'image/publisher-silent' })
  })
})
