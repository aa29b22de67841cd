import type { Log } from '../../ipc/base/log.ts'
import * as files from '../os/files.ts'
import type { RevokedList } from '../seed/ssh-trust.ts'
import { problemOf } from './problem.ts'

/** Larger is none of ours. */
const READ_BYTES = 1024 * 1024

export type RevokedFiles = Pick<typeof files, 'readIfPresent' | 'writeDurable'>

/**
 * The list of revoked certificates as a file that the operator's own sshd may name in `RevokedKeys`: that one lets nobody
 * in by key while the file is missing, so it is there, empty, before anything is revoked.
 */
export class RevokedFile {
  readonly #path: string
  readonly #log: Log
  readonly #files: RevokedFiles
  #problem = ''

  constructor(path: string, log: Log, given: RevokedFiles = files) {
    this.#path = path
    this.#log = log
    this.#files = given
  }

  /** Writes it where it says something else, in one step. Idempotent; never rejects: it is tried again at the next call. */
  async keep({ bytes }: RevokedList): Promise<void> {
    const { readIfPresent, writeDurable } = this.#files
    try {
      const there = await readIfPresent(this.#path, READ_BYTES).catch(() => undefined)
      // A daemon that runs as another user may read it; it holds numbers.
      if (!there?.equals(Buffer.from(bytes))) await writeDurable('revoked.save', this.#path, bytes, 0o644)
      this.#problem = ''
    } catch (error) {
      if (this.#problem === '') this.#log.warn('revoked.not-kept', { problem: problemOf(error) })
      this.#problem = problemOf(error)
    }
  }

  /** One sentence for people; none = it says what it should. */
  notices(): string[] {
    if (this.#problem === '') return []
    return [
      `The list of revoked certificates for this host's own sshd (${this.#path}) is not the newest: ${this.#problem}.`,
    ]
  }
}
