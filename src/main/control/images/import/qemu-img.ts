import { Fault, findFault } from '../../../../ipc/faults.ts'
import { command } from '../command.ts'

/** For a look at a file of somebody's: a header that lies costs no more than this. */
const LOOK_LIMITS = ['--as=1073741824', '--cpu=30']
const LOOK_MS = 60_000
/** A conversion reads and writes whole disks. */
const CONVERT_LIMITS = ['--as=4294967296']
const CONVERT_MS = 8 * 3600_000

export interface DiskInfo {
  virtualBytes: number
  /** It names another file. */
  needsOthers: boolean
}

/** Whether qemu-img is here. */
export async function hasQemuImg(signal: AbortSignal): Promise<boolean> {
  return await command('qemu-img', ['--version'], { signal, timeoutMs: 10_000 }).then(
    () => true,
    (error: unknown) => {
      signal.throwIfAborted()
      if (findFault(error)) return false
      throw error
    },
  )
}

/** What qemu-img reads of a file, which it is told the format of: it guesses nothing. Raises image/import-failed. */
export async function diskInfo(file: string, format: string, signal: AbortSignal): Promise<DiskInfo> {
  const out = await limited(LOOK_LIMITS, ['info', '-f', format, '--output=json', file], { signal, timeoutMs: LOOK_MS })
  const info = JSON.parse(out) as Record<string, any>
  const data = info['format-specific']?.data ?? {}
  const extents: { filename?: string }[] = data.extents ?? []
  const others = info['backing-filename'] ?? info['full-backing-filename'] ?? data['data-file']
  return {
    virtualBytes: Number(info['virtual-size']),
    needsOthers: others !== undefined || extents.some(({ filename }) => filename !== undefined && filename !== file),
  }
}

/**
 * A compressed qcow2 that stands alone, of at most so many bytes: a small file can unpack to more than any disk holds.
 * Raises image/import-failed.
 */
export async function convertToQcow2(
  from: { file: string; format: string; mostBytes: number },
  to: string,
  progress: (permille: number) => void,
  signal: AbortSignal,
): Promise<void> {
  const how = ['-p', '-c', '-f', from.format, '-O', 'qcow2', '-o', 'compression_type=zstd']
  const onLine = (line: string) => {
    const percent = [...line.matchAll(/\((\d+(?:\.\d+)?)\/100%\)/g)].at(-1)?.[1]
    if (percent !== undefined) progress(Math.round(Number(percent) * 10))
  }
  const limits = [...CONVERT_LIMITS, `--fsize=${from.mostBytes}`]
  await limited(limits, ['convert', ...how, from.file, to], { signal, onLine, timeoutMs: CONVERT_MS })
}

/** Under bounds of memory and time where this system can set them. */
async function limited(limits: string[], args: string[], options: Parameters<typeof command>[2]): Promise<string> {
  const isLinux = process.platform === 'linux'
  const [file, all] = isLinux ? ['prlimit', [...limits, '--', 'qemu-img', ...args]] : ['qemu-img', args]
  try {
    return await command(file, all, options)
  } catch (error) {
    const fault = findFault(error)
    if (fault?.code !== 'image/build-failed') throw error
    const detail = fault.params['message'] ?? 'qemu-img failed'
    throw new Fault('image/import-failed', fault.disposition, { detail }, { cause: error })
  }
}
