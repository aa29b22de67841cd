import { run } from '../os/exec.ts'
import { writeDurable } from '../os/files.ts'
import type { LogDisk } from './console-log.ts'

const PUNCH_DEADLINE_MS = 30_000

/** fcntl(F_PUNCHHOLE, {flags, reserved, offset, length}) as macOS numbers it. */
const PUNCH_ON_MACOS =
  'open(my $f, "+<", $ARGV[0]) or die "$!"; fcntl($f, 99, pack("IIqq", 0, 0, 0, $ARGV[1])) or die "$!"'

/** What frees the first bytes of a file, since Node cannot: util-linux's fallocate, or the perl every macOS has. */
export const punchCommand = (platform: NodeJS.Platform, path: string, length: number): [string, string[]] =>
  platform === 'darwin'
    ? ['perl', ['-e', PUNCH_ON_MACOS, '--', path, String(length)]]
    : ['fallocate', ['-p', '-o', '0', '-l', String(length), '--', path]]

/** The real disk of this platform. */
export const logDisk = (platform: NodeJS.Platform = process.platform): LogDisk => ({
  async punchHead(path, length) {
    const [program, args] = punchCommand(platform, path, length)
    const { code, stderr } = await run('console.punch', program, args, { timeoutMs: PUNCH_DEADLINE_MS })
    if (code !== 0) throw new Error(`${program}: ${stderr.trim() || `exit code ${code}`}`)
  },
  saveText: (path, text) => writeDurable('console.head', path, text),
})
