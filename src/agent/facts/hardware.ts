import { access } from 'node:fs/promises'

/** What of a kind of device is hardware: the kernel shows a `device` for it, and none for what is made of others. */
export class Hardware {
  readonly #dir: string
  readonly #known = new Map<string, boolean>()

  /** `dir`: /sys/block for disks, /sys/class/net for network cards. */
  constructor(dir: string) {
    this.#dir = dir
  }

  /** Those of the names that are; looks at a name once as long as it is there. */
  async among(names: readonly string[]): Promise<string[]> {
    const present = new Set(names)
    for (const name of this.#known.keys()) if (!present.has(name)) this.#known.delete(name)
    for (const name of names)
      if (!this.#known.has(name))
        this.#known.set(name, await isThere(`${this.#dir}/${name.replaceAll('/', '!')}/device`))
    return names.filter((name) => this.#known.get(name))
  }
}

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )
