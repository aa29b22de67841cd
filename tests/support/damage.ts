import {
  closeSync,
  copyFileSync,
  existsSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeSync,
} from 'node:fs'
import { DatabaseSync } from 'node:sqlite'

/** SQLite's own page size of our files. */
export const PAGE = 4096

/** Writes bytes into the middle of a file. */
export function overwrite(file: string, at: number, bytes: Uint8Array): void {
  const fd = openSync(file, 'r+')
  try {
    writeSync(fd, bytes, 0, bytes.length, at)
  } finally {
    closeSync(fd)
  }
}

/** What the power, a disk or a person can do to a database that nobody has open. Each by its name. */
export const DAMAGES: Record<string, (file: string) => void> = {
  'a page of garbage in the middle': (file) => {
    const pages = statSync(file).size / PAGE
    overwrite(file, Math.floor(pages / 2) * PAGE, Buffer.alloc(PAGE, 0x5a))
  },
  'every third page flipped': (file) => {
    const pages = statSync(file).size / PAGE
    for (let page = 2; page < pages; page += 3) overwrite(file, page * PAGE, Buffer.alloc(PAGE, 0xff))
  },
  'cut in half': (file) => truncateSync(file, Math.floor(statSync(file).size / PAGE / 2) * PAGE),
  'cut within a page': (file) => truncateSync(file, statSync(file).size - PAGE - 77),
  'an overwritten header': (file) => overwrite(file, 0, Buffer.alloc(100)),
  'an overwritten first page': (file) => overwrite(file, 0, Buffer.alloc(PAGE)),
  'no bytes at all': (file) => truncateSync(file, 0),
  'no file at all': (file) => rmSync(file),
  'something else in its place': (file) => copyFileSync('/proc/self/exe', file),
}

/** Overwrites every page of these tables. */
export function losePages(file: string, ...tables: string[]): void {
  const raw = new DatabaseSync(file)
  const pages = tables.flatMap((table) =>
    raw
      .prepare('SELECT pageno FROM dbstat WHERE name = $table')
      .all({ table })
      .map(({ pageno }) => Number(pageno)),
  )
  raw.close()
  for (const page of pages) overwrite(file, (page - 1) * PAGE, Buffer.alloc(PAGE, 0x5a))
}

/** Of a file and what belongs to it. */
export const bytesOf = (file: string): string[] =>
  ['', '-wal'].map((end) => (existsSync(`${file}${end}`) ? readFileSync(`${file}${end}`).toString('latin1') : ''))
