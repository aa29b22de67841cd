import { run } from '../os/exec.ts'
import { writeDurable } from '../os/files.ts'
import type { LogDisk } from './console-log.ts'

const PUNCH_DEADLINE_MS = 30_000

/** The real disk: `fallocate` of util-linux, because Node has no way to punch a hole. */
export const logDisk: LogDisk = {
  async punchHead(path, length) {
    const args = ['-p', '-o', '0', '-l', String(length), '--', path]
    const { code, stderr } = await run('console.punch', 'fallocate', args, { timeoutMs: PUNCH_DEADLINE_MS })
    if (code !== 0) throw new Error(`fallocate: ${stderr.trim() || `exit code ${code}`}`)
  },
  saveText: (path, text) => writeDurable('console.head', path, text),
}
