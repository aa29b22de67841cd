export type Severity = 'error' | 'warning' | 'info'

/** Text put in place of `start` to `end`, UTF-16 offsets; never holds a value of the user-data, so that a finding can be shown anywhere. */
export interface Edit {
  start: number
  end: number
  text: string
}

/** One thing to say of user-data. Neither sentence quotes a value: values may be secrets. */
export interface Finding {
  /** From 1. */
  line: number
  /** From 1; absent = the whole line. */
  column?: number
  /** error = cloud-init would ignore or refuse it, or lose a part of it; such user-data is not accepted. */
  severity: Severity
  rule: string
  /** What is the matter and what comes of it, without a full stop. */
  what: string
  /** What to do, a sentence. */
  fix: string
  /** All of them together mend it; absent where only the writer can know. */
  edits?: Edit[]
}

/** A finding before its offset has become a line. */
export interface Remark extends Omit<Finding, 'line' | 'column'> {
  at: number
  wholeLine?: boolean
}

/** Raised by the readers of one document and caught by check: what keeps the guest from reading any of it. */
export class Unreadable extends Error {
  override readonly name = 'Unreadable'
  readonly remark: Remark

  constructor(at: number, rule: string, what: string, fix: string, edits?: Edit[]) {
    super(what)
    this.remark = { at, severity: 'error', rule, what, fix, ...(edits ? { edits } : {}) }
  }
}

/** Puts quotes around a value without repeating it; undefined where quotes would not do. */
export function quoted(text: string, start: number, end: number): Edit[] | undefined {
  const value = text.slice(start, end)
  if (value === '' || /[\r\n]/.test(value)) return undefined
  const mark = value.includes("'") ? '"' : "'"
  if (mark === '"' && /["\\]/.test(value)) return undefined
  return [
    { start, end: start, text: mark },
    { start: end, end, text: mark },
  ]
}
