export type LogFields = Record<string, string | number | boolean | bigint | undefined>

/** Structured log. Fields never hold secrets; text from a host is stripped of control characters by the sink. */
export interface Log {
  info(event: string, fields?: LogFields): void
  warn(event: string, fields?: LogFields): void
  error(event: string, fields?: LogFields): void
}

/** One JSON object per line, at most 4 KiB each. */
export function lineLog(write: (line: string) => void, now: () => number = Date.now): Log {
  const at =
    (level: string) =>
    (event: string, fields: LogFields = {}) => {
      const text = JSON.stringify({ at: new Date(now()).toISOString(), level, event, ...fields }, (_, v) =>
        typeof v === 'bigint' ? v.toString() : v,
      )
      write(`${text.length > 4096 ? `${text.slice(0, 4090)}…"}` : text}\n`)
    }
  return { info: at('info'), warn: at('warn'), error: at('error') }
}

export const silentLog: Log = { info() {}, warn() {}, error() {} }
