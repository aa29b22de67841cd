import { describe, expect, it } from 'vitest'
import { forwardedPort, forwardPort } from '../../../../../src/agent/backends/qemu/qemu-forward.ts'

const USERNET = `Hub -1 (net0):\r
  Protocol[State]    FD  Source Address  Port   Dest. Address  Port RecvQ SendQ\r
  TCP[ESTABLISHED]   12       127.0.0.1 40001       10.0.2.15   443     0     0\r
  TCP[HOST_FORWARD]   9       127.0.0.1 40825       10.0.2.15    22     0     0\r
  TCP[HOST_FORWARD]  10         0.0.0.0 40900       10.0.2.15    80     0     0\r
  UDP[HOST_FORWARD]  11       127.0.0.1 52623       10.0.2.15    53     0     0\r
`

describe('a way into a guest in user mode', () => {
  it('is found in what QEMU says of its network, if it is of this protocol, from loopback and to this port', () => {
    expect([forwardedPort(USERNET, 'tcp', 22), forwardedPort(USERNET, 'udp', 53)]).toEqual([40825, 52623])
    for (const [protocol, port] of [
      ['udp', 22],
      ['tcp', 53],
      ['tcp', 80],
      ['tcp', 443],
    ] as const)
      expect(forwardedPort(USERNET, protocol, port)).toBeUndefined()
    expect(forwardedPort('', 'tcp', 22)).toBeUndefined()
  })

  it('is made once, on a port the kernel picks', async () => {
    const asked: string[] = []
    let usernet = ''
    const monitor = async (command: string) => {
      asked.push(command)
      if (command === 'info usernet') return usernet
      usernet = USERNET
      return ''
    }
    expect([await forwardPort(monitor, 'tcp', 22), await forwardPort(monitor, 'tcp', 22)]).toEqual([40825, 40825])
    expect(asked).toEqual(['info usernet', 'hostfwd_add net0 tcp:127.0.0.1:0-:22', 'info usernet', 'info usernet'])
  })

  it('is refused with what QEMU says', async () => {
    const monitor = async (command: string) => (command === 'info usernet' ? '' : "unrecognized netdev id 'net0'\r\n")
    await expect(forwardPort(monitor, 'tcp', 22)).rejects.toMatchObject({
      code: 'vmm/failed',
      params: { detail: "unrecognized netdev id 'net0'" },
    })
  })
})
