import { describe, expect, it } from 'vitest'
import { socketsOn } from '../../../../src/agent/exposures/port-holder.ts'

const TCP = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000:20FB 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 ffff 100 0 0 10 0
   1: 0100007F:20FB 0100007F:C350 01 00000000:00000000 00:00000000 00000000     0        0 4712 1 ffff 20 4 30 10 -1
   2: 0100007F:C350 0100007F:20FB 01 00000000:00000000 00:00000000 00000000     0        0 4713 1 ffff 20 4 30 10 -1
   3: 0100007F:20FB 0100007F:C351 06 00000000:00000000 03:00000000 00000000     0        0 0 3 ffff
`
const UDP6 = `  sl  local_address                         remote_address                        st tx_queue rx_queue
    9: 00000000000000000000000000000000:14E9 00000000000000000000000000000000:0000 07 00000000:00000000 00:00000000 00000000   104        0 99 2 ffff 0
`

describe('who has a port', () => {
  it('is who listens on it, not who is connected through it', () => {
    expect(socketsOn(TCP, 'tcp', 8443)).toEqual(['4711'])
    expect(socketsOn(TCP, 'tcp', 50_000)).toEqual([])
  })

  it('is anybody bound to it where nobody listens, as with UDP', () => {
    expect(socketsOn(UDP6, 'udp', 5353)).toEqual(['99'])
  })

  it('is nobody in a table that says nothing', () => {
    expect(socketsOn('', 'tcp', 80)).toEqual([])
  })
})
