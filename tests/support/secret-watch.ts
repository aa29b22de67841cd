import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'

const LOOK_MS = 15
/** Largest file that is read whole. */
const FILE_BYTES = 512 * 1024 * 1024

/** Looks at the command line and environment of every process of this machine, again and again, for texts that must be in none. */
export class SecretWatch {
  readonly #seen = new Map<string, string>()
  readonly #looking: Promise<void>
  #secrets: readonly string[]
  #over = false
  #looks = 0
  #processes = new Set<string>()

  constructor(secrets: readonly string[] = []) {
    this.#secrets = secrets
    this.#looking = this.#run()
  }

  /** From now on this one too. */
  add(secret: string): void {
    this.#secrets = [...this.#secrets, secret]
  }

  /** Ends it: where a secret was seen, and how much was looked at. */
  async end(): Promise<{ found: string[]; looks: number; processes: number }> {
    this.#over = true
    await this.#looking
    return { found: [...this.#seen.values()], looks: this.#looks, processes: this.#processes.size }
  }

  async #run(): Promise<void> {
    while (!this.#over) {
      for (const pid of readdirSync('/proc')) if (/^\d+$/.test(pid) && Number(pid) !== process.pid) this.#look(pid)
      this.#looks++
      await delay(LOOK_MS)
    }
  }

  #look(pid: string): void {
    for (const what of ['cmdline', 'environ']) {
      const text = readIfThere(`/proc/${pid}/${what}`)
      if (what === 'cmdline') this.#processes.add(`${pid} ${text.slice(0, 40)}`)
      for (const [n, secret] of this.#secrets.entries())
        if (text.includes(secret))
          this.#seen.set(`${pid} ${what} ${n}`, `secret ${n} in ${what} of ${text.slice(0, 120)}`)
    }
  }
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
}

/** Files below a directory that hold one of the secrets, each with which. */
export function filesWithSecrets(dir: string, secrets: readonly string[]): string[] {
  const found: string[] = []
  for (const entry of readdirSync(dir, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const path = `${entry.parentPath}/${entry.name}`
    const text = readBounded(path)
    for (const [n, secret] of secrets.entries()) if (text.includes(secret)) found.push(`secret ${n} in ${path}`)
  }
  return found
}

function readBounded(path: string): Buffer {
  try {
    const bytes = readFileSync(path)
    if (bytes.length > FILE_BYTES) throw new Error(`${path} is too large to be looked through`)
    return bytes
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return Buffer.alloc(0)
    throw error
  }
}
