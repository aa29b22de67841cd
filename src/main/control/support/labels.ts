/** What is replaced by a label that stays the same through all files. */
export type LabelKind =
  | 'host'
  | 'vm'
  | 'image'
  | 'tenant'
  | 'user'
  | 'task'
  | 'port'
  | 'ca'
  | 'address'
  | 'id'
  | 'key'
  | 'digest'
  | 'request'

/** Values told here are bounded: past this many of a kind the rest share one label. */
const MAX_OF_KIND = 20_000

/** `host-1` for whatever a host is known by. Which is which never leaves this computer. */
export class Labels {
  readonly #byValue = new Map<string, string>()
  readonly #count = new Map<LabelKind, number>()

  /** One thing under all its names; the first value decides whether it has a label already. */
  know(kind: LabelKind, ...values: string[]): string {
    const given = values.filter((value) => value !== '')
    const label =
      given.map((value) => this.#byValue.get(value)).find((known) => known !== undefined) ?? this.#next(kind)
    for (const value of given) if (!this.#byValue.has(value)) this.#byValue.set(value, label)
    return label
  }

  find(value: string): string | undefined {
    return this.#byValue.get(value)
  }

  #next(kind: LabelKind): string {
    const n = Math.min((this.#count.get(kind) ?? 0) + 1, MAX_OF_KIND)
    this.#count.set(kind, n)
    return n === MAX_OF_KIND ? `${kind}-more` : `${kind}-${n}`
  }
}
