import { appendFileSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ConsoleLog, type LogDisk, recoverHead } from '../../../../src/agent/serial/console-log.ts'
import { KiB } from '../../../../src/ipc/units.ts'

let dir: string
let path: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'eitri-log-'))
  path = join(dir, 'serial.log')
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

class FakeDisk implements LogDisk {
  readonly calls: string[] = []
  punchFails: Error | undefined
  async punchHead(_path: string, length: number) {
    this.calls.push(`punch ${length}`)
    if (this.punchFails) throw this.punchFails
  }
  async saveText(file: string, text: string) {
    this.calls.push(`save ${text.trim()}`)
    writeFileSync(file, text)
  }
}

const logOf = (disk: LogDisk) => new ConsoleLog(path, disk, 64 * KiB, 16 * KiB)

describe('the serial log of a VM', () => {
  it('may not exist yet, then grows, and its offsets are file offsets', async () => {
    const log = logOf(new FakeDisk())
    expect(log.end).toBe(0)
    expect(await log.refresh()).toBe(false)
    writeFileSync(path, 'abcdef')
    expect(await log.refresh()).toBe(true)
    expect(Buffer.from((await log.read(2, 3))!).toString()).toBe('cde')
    appendFileSync(path, 'ghi')
    await log.refresh()
    expect(Buffer.from((await log.read(6, 100))!).toString()).toBe('ghi')
    await log.close()
  })

  it('records the new head before it punches, in whole blocks, and keeps the size it promises', async () => {
    const disk = new FakeDisk()
    const log = logOf(disk)
    writeFileSync(path, Buffer.alloc(80 * KiB))
    await log.refresh()
    await log.trim()
    expect(disk.calls).toEqual([])
    appendFileSync(path, Buffer.alloc(5_000))
    await log.refresh()
    await log.trim()
    const head = Math.floor((80 * KiB + 5_000 - 64 * KiB) / 4096) * 4096
    expect(disk.calls).toEqual([`save ${head}`, `punch ${head}`])
    expect(log.head).toBe(head)
    expect(log.end - log.head).toBeGreaterThanOrEqual(64 * KiB)
    expect(await log.read(head - 1, 10)).toBeUndefined()
    await log.close()
  })

  it('finds its head again after a restart', async () => {
    writeFileSync(path, Buffer.alloc(70 * KiB))
    writeFileSync(`${path}.head`, '8192\n')
    expect(logOf(new FakeDisk()).head).toBe(8192)
    rmSync(`${path}.head`)
    expect(logOf(new FakeDisk()).head).toBe(0)
  })

  it('never serves holes as zeros when the head file was lost', async () => {
    writeFileSync(path, Buffer.alloc(200 * KiB))
    const disk = new FakeDisk()
    const log = logOf(disk)
    expect(log.head).toBe(120 * KiB)
    await log.trim()
    expect(disk.calls).toEqual([`save ${136 * KiB}`, `punch ${136 * KiB}`])
  })

  it('takes no head beyond its end and no rubbish for one', () => {
    expect(recoverHead(9_000, 4_000, 80_000)).toBe(4_000)
    writeFileSync(path, 'abc')
    writeFileSync(`${path}.head`, 'x\n')
    expect(logOf(new FakeDisk()).head).toBe(0)
  })

  it.each([
    ['cut short', () => truncateSync(path, 1), 'the serial log was replaced; open the console again'],
    ['removed', () => rmSync(path), 'the serial log was removed'],
  ])('says so when it is %s behind its back', async (_, harm, detail) => {
    writeFileSync(path, 'abc')
    const log = logOf(new FakeDisk())
    harm()
    expect(await log.refresh()).toBe(true)
    expect(log.gone).toMatchObject({ code: 'console/unavailable', params: { detail } })
    expect(await log.refresh()).toBe(false)
  })
})
