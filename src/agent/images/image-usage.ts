import { z } from 'zod'
import { readIfPresent, writeDurable } from '../os/files.ts'

const UsageFile = z.object({ version: z.literal(1), unused_ms: z.record(z.string(), z.number().nonnegative()) })

/**
 * For how long nothing has referred to each image, counted by the running agent: neither a jump of the wall clock nor
 * time while the host was off makes an image older. A file that cannot be read begins at zero, which keeps all longer.
 */
export class ImageUsage {
  readonly #path: string
  readonly #unused: Map<string, number>

  private constructor(path: string, unused: Map<string, number>) {
    this.#path = path
    this.#unused = unused
  }

  static async open(path: string): Promise<ImageUsage> {
    try {
      const bytes = await readIfPresent(path)
      const file = bytes && UsageFile.parse(JSON.parse(bytes.toString('utf8')))
      return new ImageUsage(path, new Map(Object.entries(file?.unused_ms ?? {})))
    } catch {
      return new ImageUsage(path, new Map())
    }
  }

  /** 0 = in use when last looked at, or never looked at. */
  unusedMs(key: string): number {
    return this.#unused.get(key) ?? 0
  }

  /** `elapsedMs` passed: `unused` were referred to by nothing, all others are in use or gone. */
  count(unused: ReadonlySet<string>, elapsedMs: number): void {
    for (const key of this.#unused.keys()) if (!unused.has(key)) this.#unused.delete(key)
    for (const key of unused) this.#unused.set(key, this.unusedMs(key) + Math.max(0, elapsedMs))
  }

  async save(): Promise<void> {
    const file: z.infer<typeof UsageFile> = { version: 1, unused_ms: Object.fromEntries(this.#unused) }
    await writeDurable('images.usage', this.#path, `${JSON.stringify(file)}\n`)
  }
}
