import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { archName, detectInit, findProgram, osName, qemuVersion } from '../../../../src/agent/facts/system.ts'

describe('what the agent sees of its host', () => {
  it('names the system as os-release does, quoted or not', () => {
    expect(osName('PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nID=debian\n')).toBe('Debian GNU/Linux 12 (bookworm)')
    expect(osName("ID=alpine\nVERSION_ID='3.20'\n")).toBe('alpine 3.20')
    expect(osName('nothing here')).toBe('')
  })

  it('believes in an init only where it really runs', () => {
    expect(detectInit((path) => path === '/run/systemd/system')).toBe('systemd')
    expect(detectInit((path) => path === '/run/openrc')).toBe('openrc')
    expect(detectInit(() => false)).toBe('none')
  })

  it('calls architectures what uname calls them', () => {
    expect([archName('x64'), archName('arm64'), archName('riscv64')]).toEqual(['x86_64', 'aarch64', 'riscv64'])
  })

  it('finds only programs that may be run', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'eitri-path-'))
    writeFileSync(join(dir, 'eitri-test-tool'), '')
    expect(await findProgram('eitri-test-tool', dir)).toBeUndefined()
    chmodSync(join(dir, 'eitri-test-tool'), 0o755)
    expect(await findProgram('eitri-test-tool', dir)).toBe(join(dir, 'eitri-test-tool'))
    rmSync(dir, { recursive: true })
  })

  it('an empty hypervisor version means it is not installed or does not run', async () => {
    const done = { stdout: 'QEMU emulator version 7.2.22 (Debian 1:7.2)\nCopyright', stderr: '', timedOut: false }
    expect(await qemuVersion('q', async () => ({ ...done, code: 0 }))).toBe('QEMU emulator version 7.2.22')
    expect(await qemuVersion('q', async () => ({ ...done, code: 1 }))).toBe('')
    expect(await qemuVersion('q', () => Promise.reject(new Error('ENOENT')))).toBe('')
  })
})
