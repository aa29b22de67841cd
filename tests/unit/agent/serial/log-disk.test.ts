import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { logDisk, punchCommand } from '../../../../src/agent/serial/log-disk.ts'
import { MiB } from '../../../../src/ipc/units.ts'

describe('the disk of serial logs', () => {
  const withFile = async (work: (path: string) => Promise<void>) => {
    const dir = mkdtempSync(join(tmpdir(), 'eitri-punch-'))
    try {
      const path = join(dir, 'serial.log')
      writeFileSync(path, Buffer.alloc(4 * MiB, 7))
      await work(path)
    } finally {
      rmSync(dir, { recursive: true })
    }
  }

  it('gives back the blocks of a head and keeps every offset', () =>
    withFile(async (path) => {
      const before = statSync(path).blocks
      await logDisk('linux').punchHead(path, 3 * MiB)
      expect(statSync(path).size).toBe(4 * MiB)
      expect(statSync(path).blocks).toBeLessThanOrEqual(before / 4 + 64)
    }))

  it('says so when it cannot, and changes nothing', () =>
    withFile(async (path) => {
      await expect(logDisk('darwin').punchHead(path, 3 * MiB)).rejects.toThrow('perl: Invalid argument')
      expect(statSync(path).size).toBe(4 * MiB)
    }))

  it('asks macOS in the layout of its fpunchhole: flags, reserved, offset, length', () => {
    const [program, [flag, script = '', ...rest]] = punchCommand('darwin', '/a b', 8192)
    expect([program, flag, ...rest]).toEqual(['perl', '-e', '--', '/a b', '8192'])
    const packed = script.replace(/^.*pack/, 'print pack').replace(/\) or die.*$/, '')
    const bytes = execFileSync('perl', ['-e', packed.replace('$ARGV[1]', '8192')])
    expect(bytes).toEqual(Buffer.from([...Array(16).fill(0), 0, 0x20, 0, 0, 0, 0, 0, 0]))
  })
})
