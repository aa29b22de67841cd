import { describe, expect, it } from 'vitest'
import type { AgentConnection } from '../../../../../src/main/control/hosts/agent-connection.ts'
import { nextPieceBytes, paceFor, SMALLEST_BYTES } from '../../../../../src/main/control/hosts/pace.ts'

const KiB = 1024
const LARGEST = 1024 * KiB

describe('the next piece of a bulk transfer', () => {
  it.each([
    ['doubles while a piece arrives fast', 128 * KiB, 10, 256 * KiB],
    ['is what arrives in 200 ms', 512 * KiB, 400, 256 * KiB],
    ['never goes under 64 KiB', 128 * KiB, 60_000, SMALLEST_BYTES],
    ['never is larger than allowed', 900 * KiB, 1, LARGEST],
    ['grows when no time can be told', 128 * KiB, 0, 256 * KiB],
  ])('%s', (_, bytes, ms, expected) => expect(nextPieceBytes(bytes, ms, LARGEST)).toBe(expected))
})

describe('the pace of a bulk transfer', () => {
  const over = (carrier: AgentConnection['carrier']) => {
    const waiting: (() => void)[] = []
    const drained = () => new Promise<void>((resolve) => waiting.push(resolve))
    return { waiting, pace: paceFor({ carrier, drained } as AgentConnection, LARGEST, () => 0) }
  }

  it('holds the third piece back until the first has arrived', async () => {
    const { pace, waiting } = over('streamlocal')
    await pace.sent(pace.pieceBytes)
    let went = false
    const second = pace.sent(pace.pieceBytes).then(() => {
      went = true
    })
    await Promise.resolve()
    expect(went).toBe(false)
    waiting[0]!()
    await second
    expect(waiting).toHaveLength(2)
  })

  it('is none on this computer', async () => {
    const { pace, waiting } = over('unix')
    expect(pace.pieceBytes).toBe(LARGEST)
    await pace.sent(LARGEST)
    await pace.sent(LARGEST)
    expect(waiting).toEqual([])
  })
})
