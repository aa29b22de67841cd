import { knownWords } from './known-words.ts'
import type { LabelKind, Labels } from './labels.ts'

/** What was taken out, by what it is. */
export type TakenKind = 'name' | 'address' | 'user' | 'key' | 'secret' | 'text'

const OF_LABEL: Record<LabelKind, TakenKind> = {
  ...{ host: 'name', vm: 'name', image: 'name', tenant: 'name', task: 'name', port: 'name', ca: 'name', id: 'name' },
  ...{ user: 'user', address: 'address', key: 'key', digest: 'name', request: 'name' },
}

/** Longest text of a sentence that is looked at; the rest is left out. */
const MAX_SENTENCE = 2_000
/** A text without blanks from this length on is taken for a secret rather than for a word. */
const SECRET_CHARS = 16

const ADDRESS = [
  /^\[?[0-9a-f]{0,4}(:[0-9a-f]{0,4}){2,7}(%\w+)?\]?(:\d+)?(\/\d+)?$/i,
  /^\d{1,3}(\.\d{1,3}){3}(:\d+)?(\/\d+)?$/,
  /^([0-9a-f]{2}[:-]){5}[0-9a-f]{2}$/i,
  /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9-]+)*\.[a-z]{2,}(:\d+)?$/i,
  /^[a-z][a-z0-9+.-]*:\/\//i,
  /^[a-z0-9][a-z0-9.-]*:\d{1,5}$/i,
]
const NUMBER = /^[-+±<]?\d{1,5}(\.\d{1,3})?(%|s|ms|us|min|h|d|B|KB|MB|GB|TB|KiB|MiB|GiB)?$/
const VERSION = /^v?\d{1,4}\.\d{1,4}(\.\d{1,5})?(-(dev|rc|beta|alpha|test)(\.\d{1,4})?)?$/
const EDGES = /^([("'`<{“‘]*)([\s\S]*?)([)"'`>},.;:!?…”’]*)$/
const PEM = /-----BEGIN[\s\S]*?(-----END[^-]*-----|$)/g

/** Takes out of the texts of one file what is nobody's business elsewhere, and counts it. */
export class Redactor {
  readonly #labels: Labels
  readonly #taken = new Map<TakenKind, number>()

  constructor(labels: Labels) {
    this.#labels = labels
  }

  /** How often what was taken out. */
  get taken(): Record<string, number> {
    return Object.fromEntries([...this.#taken].sort())
  }

  /** The label of a value; `none` for an empty one. */
  label(kind: LabelKind, value: string): string {
    if (value === '') return 'none'
    this.#count(OF_LABEL[kind])
    return this.#labels.know(kind, value)
  }

  /** A word of a closed set; any other is text. */
  word(value: string, allowed: readonly string[]): string {
    if (value === '') return 'none'
    return allowed.includes(value) ? value : this.out('text')
  }

  /** `1.2.3`; anything else that is called a version is text. */
  version(value: string): string {
    if (value === '') return 'none'
    return VERSION.test(value) ? value : this.out('text')
  }

  /** Something that is there, and what of it is not told. */
  out(kind: TakenKind, n = 1): string {
    this.#count(kind, n)
    return `[${kind}]`
  }

  /** A sentence of which only numbers and words of this app's own sentences are left; what it names has its label. */
  sentence(text: string): string {
    const parts = text
      .slice(0, MAX_SENTENCE)
      .replace(PEM, () => ` ${this.out('secret')} `)
      .split(/\s+/)
      .filter(Boolean)
      .map((token) => (token === '[secret]' ? token : this.#token(token)))
    if (text.length > MAX_SENTENCE) parts.push(this.out('text'))
    return parts.filter((part, i) => part !== '[text]' || parts[i - 1] !== '[text]').join(' ')
  }

  #token(token: string): string {
    const [, before = '', core = '', after = ''] = EDGES.exec(token) ?? []
    return `${before}${core === '' ? '' : this.#core(core)}${after}`
  }

  #core(core: string): string {
    const known = this.#labels.find(core) ?? this.#labels.find(core.replace(/[’']s$/, ''))
    if (known !== undefined) {
      this.#count(known.startsWith('user-') ? 'user' : known.startsWith('address-') ? 'address' : 'name')
      return known
    }
    if (NUMBER.test(core) || VERSION.test(core)) return core
    if (core.includes('@')) {
      const [user = '', address = ''] = core.split('@', 2)
      return `${this.label('user', user)}@${this.label('address', address)}`
    }
    if (/^SHA256:/.test(core)) return this.label('key', core)
    if (/^[0-9a-f]{32}$/.test(core)) return this.label('id', core)
    if (/^[0-9a-f]{64}$/.test(core)) return this.label('digest', core)
    if (isKnown(core)) return core
    if (ADDRESS.some((pattern) => pattern.test(core))) return this.label('address', core)
    // A path says little, and may say who somebody is.
    if (/^[~.]?\//.test(core)) return this.#path()
    return this.out(core.length >= SECRET_CHARS ? 'secret' : 'text')
  }

  #path(): string {
    this.#count('text')
    return '[path]'
  }

  #count(kind: TakenKind, n = 1): void {
    this.#taken.set(kind, (this.#taken.get(kind) ?? 0) + n)
  }
}

/** Words, also two that are joined: `user-data`, `start/stop`. */
function isKnown(core: string): boolean {
  const words = knownWords()
  const parts = core.toLowerCase().split(/[-/’']/)
  return parts.length <= 4 && parts.every((part) => words.has(part) || part === 's' || part === 't')
}
