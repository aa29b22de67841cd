import { describe, expect, it } from 'vitest'
import type { WantedPort } from '../../../../src/agent/exposures/exposure-plan.ts'
import { whyNotOpen } from '../../../../src/agent/exposures/open-port.ts'

const tcp: WantedPort = { id: 'e', vmId: 'v', guestPort: 80, hostPort: 80, protocol: 'tcp', scope: 'lan' }
const errno = (code: string) => Object.assign(new Error(code), { code })

describe('a port that cannot be opened', () => {
  it.each([
    ['EADDRINUSE', tcp, 'nginx (pid 812)', 'Port 80 is used by nginx (pid 812).'],
    ['EADDRINUSE', { ...tcp, protocol: 'udp' as const }, '', 'UDP port 80 is used by another program.'],
    ['EACCES', tcp, '', 'Port 80 is for programs of root, and the agent of this host does not run as root.'],
    ['EMFILE', tcp, '', 'Port 80 cannot be opened (EMFILE).'],
  ])('for %s says so in a sentence', (code, port, holder, sentence) => {
    expect(whyNotOpen(errno(code), port, holder)).toBe(sentence)
  })
})
