import { describe, expect, it } from 'vitest'
import type { ConsoleFrame } from '../../../../../src/ipc/console-frames.ts'
import type { ConsoleLine } from '../../../../../src/renderer/features/consoles/console-session.ts'
import { type LogProgress, readLog } from '../../../../../src/renderer/features/consoles/log-reader.ts'

function aReading(page?: { from: bigint; until: bigint }) {
  const sent: ConsoleFrame[] = []
  const told: LogProgress[] = []
  const stop = new AbortController()
  let listener!: Parameters<ConsoleLine['join']>[0]
  let left = 0
  let text = ''
  let failing: Error | undefined
  const line: ConsoleLine = {
    join: (l) => {
      listener = l
      return 5
    },
    leave: () => {
      left++
    },
    send: (frame) => {
      sent.push(frame)
      return true
    },
  }
  const done = readLog({
    vmId: 'web',
    line,
    ...(page ? { page } : {}),
    write: async (bytes) => {
      if (failing) throw failing
      text += new TextDecoder().decode(bytes)
    },
    onProgress: (progress) => told.push(progress),
    signal: stop.signal,
  })
  done.catch(() => {})
  return {
    sent,
    told,
    stop,
    done,
    left: () => left,
    text: () => text,
    fail: (error: Error) => {
      failing = error
    },
    up: () => listener.onUp(),
    down: () => listener.onDown(),
    opened: (start: bigint, end: bigint, head = 0n) =>
      listener.onFrame({ type: 'opened', id: 5, start, end, head, title: '' }),
    data: (offset: bigint, bytes: string | Uint8Array) =>
      listener.onFrame({
        type: 'data',
        id: 5,
        offset,
        bytes: typeof bytes === 'string' ? new TextEncoder().encode(bytes) : bytes,
      }),
    tell: (frame: ConsoleFrame) => listener.onFrame(frame),
  }
}

describe('the whole log of a console', () => {
  it('is read by a viewer that types nothing, from its oldest byte to the end it had, and no further', async () => {
    const r = aReading()
    r.up()
    expect(r.sent[0]).toEqual({ type: 'open', id: 5, vm: 'web', from: 0n, readOnly: true })
    r.opened(0n, 104n, 100n)
    r.tell({ type: 'skipped', id: 5, from: 0n, to: 100n })
    r.data(100n, 'ab')
    r.data(102n, 'cdefgh')
    expect(await r.done).toMatchObject({ doneBytes: 4n, totalBytes: 4n, missedBytes: 0n })
    expect([r.text(), r.left()]).toEqual(['abcd', 1])
  })

  it('an empty one is read at once', async () => {
    const r = aReading()
    r.opened(0n, 0n)
    expect(await r.done).toMatchObject({ doneBytes: 0n, totalBytes: 0n })
  })

  it('is read no faster than it is written: an ack says that it was', async () => {
    const r = aReading()
    r.opened(0n, 200_000n)
    r.data(0n, new Uint8Array(65_536))
    expect(r.sent).toEqual([])
    await new Promise((resolve) => setImmediate(resolve))
    expect(r.sent).toEqual([{ type: 'ack', id: 5, offset: 65_536n }])
  })

  it('goes on where it was when the app was lost for a moment', async () => {
    const r = aReading()
    r.opened(0n, 4n)
    r.data(0n, 'ab')
    r.up()
    expect(r.sent.at(-1)).toMatchObject({ type: 'open', from: 2n })
    r.opened(2n, 9n)
    r.data(1n, 'bcd')
    await r.done
    expect(r.text()).toBe('abcd')
  })

  it('says how much went past what the host keeps meanwhile', async () => {
    const r = aReading()
    r.opened(0n, 10n)
    r.data(0n, 'ab')
    r.tell({ type: 'skipped', id: 5, from: 2n, to: 8n })
    r.data(8n, 'ij')
    expect(await r.done).toMatchObject({ doneBytes: 10n, totalBytes: 10n, missedBytes: 6n })
  })

  it('stops when it is told, when it cannot be written, and when there is none', async () => {
    const stopped = aReading()
    stopped.opened(0n, 9n)
    stopped.stop.abort(new Error('stopped'))
    await expect(stopped.done).rejects.toThrow('stopped')
    const full = aReading()
    full.fail(new Error('disk full'))
    full.opened(0n, 9n)
    full.data(0n, 'ab')
    await expect(full.done).rejects.toThrow('disk full')
    const none = aReading()
    none.tell({ type: 'close', id: 5, reason: 'there is no VM web' })
    await expect(none.done).rejects.toThrow('there is no VM web')
    expect([stopped.left(), full.left(), none.left()]).toEqual([1, 1, 1])
  })

  it('says why nothing comes while its host or the app does not answer, until it is read on', async () => {
    const r = aReading()
    const why = () => r.told.at(-1)?.waiting
    r.tell({ type: 'state', id: 5, link: 'reconnecting', detail: 'rack1 does not answer' })
    expect(why()).toBe('rack1 does not answer')
    r.down()
    expect(why()).toBe('Eitri is not answering')
    r.opened(0n, 4n)
    expect(why()).toBe('')
  })

  it('is read from one byte to another where a page is wanted, or to what is there', async () => {
    const read = aReading({ from: 6n, until: 9n })
    read.up()
    expect(read.sent[0]).toMatchObject({ from: 6n })
    read.opened(6n, 20n, 2n)
    read.data(6n, 'ghijklm')
    expect(await read.done).toMatchObject({ first: 6n, head: 2n, totalBytes: 3n })
    expect(read.text()).toBe('ghi')
  })
})
