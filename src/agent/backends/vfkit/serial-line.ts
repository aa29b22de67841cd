import type { Duplex } from 'node:stream'
import type { Clock } from '../../../ipc/base/clock.ts'
import { Fault } from '../../../ipc/faults.ts'
import type { Run } from '../../os/exec.ts'
import { openTerminal } from '../../os/files.ts'
import type { VfkitClient } from './vfkit-client.ts'

const STTY_MS = 5_000
/** A vfkit that names no terminal at so many looks is asked at a slower pace: it writes a log line for each. */
const QUICK_LOOKS = 20
const SLOW_LOOK_MS = 10_000

export interface SerialLineDeps {
  run: Run
  clock: Clock
  client: VfkitClient
  platform: NodeJS.Platform
}

/**
 * Where a guest's console comes from: a pseudo-terminal that vfkit makes anew at each start and names when asked. What
 * the guest prints while nobody reads waits in the terminal, a few KiB, and then the guest waits.
 */
export class SerialLine {
  readonly #deps: SerialLineDeps
  readonly #restSocket: string
  readonly #closed = new AbortController()
  #failed = 0
  #problem = ''

  constructor(deps: SerialLineDeps, restSocket: string) {
    this.#deps = deps
    this.#restSocket = restSocket
  }

  /** Why the last attempt to open it failed; '' = it did not. */
  get problem(): string {
    return this.#problem
  }

  /** The far end, raw; the caller destroys it. Raises `vmm/failed` (transient), with NO_PTY_YET among its reasons. */
  async open(): Promise<Duplex> {
    const { signal } = this.#closed
    if (this.#failed >= QUICK_LOOKS) await this.#deps.clock.sleep(SLOW_LOOK_MS, signal)
    try {
      const path = await this.#deps.client.pty(this.#restSocket)
      await this.#makeRaw(path)
      signal.throwIfAborted()
      const line = openTerminal(path)
      this.#failed = 0
      this.#problem = ''
      return line
    } catch (error) {
      this.#failed++
      this.#problem = error instanceof Fault ? (error.params['detail'] ?? '') : String(error)
      throw error
    }
  }

  /** Ends a wait of open. */
  close(): void {
    this.#closed.abort()
  }

  /** As vfkit leaves it, the terminal eats some control characters and adds carriage returns. */
  async #makeRaw(path: string): Promise<void> {
    const file = this.#deps.platform === 'linux' ? '-F' : '-f'
    const args = [file, path, 'raw', '-echo']
    const { code, stderr } = await this.#deps.run('vfkit.raw', 'stty', args, { timeoutMs: STTY_MS })
    if (code !== 0) throw new Fault('vmm/failed', 'transient', { detail: `stty: ${stderr.trim().slice(0, 200)}` })
  }
}
