export type Expected = [line: number, rule: string, severity: 'error' | 'warning' | 'info']

/** User-data as people write it, and all that is to be said of it. */
export interface CloudInitCase {
  name: string
  input: string | Uint8Array
  /** Every finding, in the order of lines; none = clean. */
  expect: Expected[]
}

/** The text between the backticks as it stands, without the line break after the first one. */
export const doc = (strings: TemplateStringsArray): string => (strings.raw[0] ?? '').slice(1)

export const bytes = (...parts: (string | number[])[]): Uint8Array =>
  new Uint8Array(parts.flatMap((part) => (typeof part === 'string' ? [...new TextEncoder().encode(part)] : part)))
