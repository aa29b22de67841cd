import { expect, it } from 'vitest'
import { downloadDetail } from '../../../../src/agent/reconcile/download-detail.ts'

const GiB = 1024 ** 3

it.each([
  ['both in the unit of the larger', 0.4 * GiB, 3.7 * GiB, 'downloading image 0.4/3.7 GiB'],
  ['small files', 100, 512, 'downloading image 100/512 B'],
  ['no declared length', 5 * 1024 ** 2, undefined, 'downloading image 5.0 MiB'],
  ['a length of 0 is none', 1024, 0, 'downloading image 1.0 KiB'],
])('%s', (_why, done, total, words) => {
  expect(downloadDetail(done, total)).toBe(words)
})
