import { PassThrough } from 'node:stream'
import type { CliIo } from '../../src/main/cli/io.ts'

/** A terminal or a pipe that a test types into and reads from. */
export class FakeTerminal implements CliIo {
  readonly stdin: CliIo['stdin'] & PassThrough
  readonly stdout: CliIo['stdout'] & PassThrough
  readonly stderr: CliIo['stderr'] & PassThrough
  readonly env = {}
  readonly raw: boolean[] = []
  out = ''
  err = ''
  readonly #interrupts = new Set<() => void>()
  readonly #waiting = new Set<() => void>()

  constructor({ tty = false }: { tty?: boolean } = {}) {
    const setRawMode = (raw: boolean) => this.raw.push(raw)
    this.stdin = Object.assign(new PassThrough(), tty ? { isTTY: true, setRawMode } : {})
    this.stdout = Object.assign(new PassThrough(), { isTTY: tty })
    this.stderr = Object.assign(new PassThrough(), { isTTY: tty })
    this.stdout.on('data', (chunk) => {
      this.out += String(chunk)
      this.#tick()
    })
    this.stderr.on('data', (chunk) => {
      this.err += String(chunk)
      this.#tick()
    })
  }

  endOutput(): void {
    this.stdout.end()
  }

  onInterrupt(fn: () => void): () => void {
    this.#interrupts.add(fn)
    return () => this.#interrupts.delete(fn)
  }

  interrupt(): void {
    for (const fn of this.#interrupts) fn()
  }

  type(text: string): void {
    this.stdin.write(text)
  }

  async until(test: () => boolean): Promise<void> {
    while (!test()) await new Promise<void>((resolve) => this.#waiting.add(resolve))
  }

  #tick(): void {
    for (const resolve of this.#waiting) resolve()
    this.#waiting.clear()
  }
}
