import { z } from 'zod'

/** What is wrong with a file that cannot be used, for people: the end of "it cannot be read: ...". */
export function problemOf(error: unknown): string {
  if (error instanceof SyntaxError) return 'it is no JSON'
  if (error instanceof z.ZodError) return 'parts of it are missing'
  return (error instanceof Error ? error.message : String(error)).slice(0, 200)
}
