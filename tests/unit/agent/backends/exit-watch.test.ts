import { describe, expect, it } from 'vitest'
import { ExitWatch } from '../../../../src/agent/backends/exit-watch.ts'
import { linuxProcesses } from '../../../../src/agent/os/process.ts'

describe('a watch for ends', () => {
  it('takes no failed look for an end, and tells of the end once it is seen', async () => {
    const told: string[] = []
    let look = (): boolean => {
      throw new Error('ps says nothing')
    }
    const watch = new ExitWatch({ ...linuxProcesses(), alive: () => look() }, async () => {})
    watch.onExit((vmId) => told.push(vmId))
    watch.watch('a', { pid: 77, startTime: '1', bootId: 'b' })
    await watch.check('a')
    expect(told).toEqual([])
    look = () => false
    await watch.check('a')
    await watch.check('a')
    expect(told).toEqual(['a'])
    watch.close()
  })
})
