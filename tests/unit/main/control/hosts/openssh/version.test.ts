import { describe, expect, it } from 'vitest'
import { faultLine } from '../../../../../../src/ipc/fault-text.ts'
import type { Fault } from '../../../../../../src/ipc/faults.ts'
import { requireOpenssh } from '../../../../../../src/main/control/hosts/openssh/version.ts'

const { signal } = new AbortController()
const outcome = (said: string | undefined, platform: NodeJS.Platform = 'linux') => {
  const run = async () => (said === undefined ? undefined : { code: 0, stdout: '', stderr: said })
  return requireOpenssh('rack1', { run, platform, signal }).then(
    () => 'carries',
    ({ code, params }: Fault) => faultLine(code, params),
  )
}

describe('the system’s ssh', () => {
  it.each([
    'OpenSSH_8.5p1',
    'OpenSSH_9.2p1 Debian-2+deb12u6, OpenSSL 3.0.19',
    'OpenSSH_10.0p2, LibreSSL 3.3.6',
    'Sun_SSH_2.4',
  ])('carries hosts as %s', async (said) => expect(await outcome(said)).toBe('carries'))

  it.each<[string, string | undefined, NodeJS.Platform, string]>([
    ['is too old', 'OpenSSH_8.4p1 Debian-5', 'linux', 'Install OpenSSH 8.5 or newer on this computer: it has 8.4.'],
    ['is not there', undefined, 'linux', 'Install OpenSSH 8.5 or newer on this computer.'],
    ['shares no sign-in', 'OpenSSH_for_Windows_9.5p1', 'win32', 'Add it from a computer with Linux or macOS.'],
  ])('that %s is named with what to do', async (_, said, platform, next) => {
    const words = `rack1 needs the system's own ssh that is not supported yet. Nothing was changed. ${next}`
    expect(await outcome(said, platform)).toBe(words)
  })
})
