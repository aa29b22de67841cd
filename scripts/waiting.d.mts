import type { SpawnOptions } from 'node:child_process'

export function waitingLine(what: string, elapsedMs: number, detail: string): string
export function runSaid(
  what: string,
  command: string,
  args: readonly string[],
  options: SpawnOptions,
  detail?: () => string,
): Promise<{ status: number | null; error: Error | undefined }>
