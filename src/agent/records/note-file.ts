import type { z } from 'zod'
import { readIfPresent } from '../os/files.ts'

/** A JSON note of ours; undefined when there is none, or it cannot be read. */
export async function readNote<T>(path: string, schema: z.ZodType<T>): Promise<T | undefined> {
  try {
    const bytes = await readIfPresent(path)
    return bytes === undefined ? undefined : schema.parse(JSON.parse(bytes.toString('utf8')))
  } catch {
    return undefined
  }
}
