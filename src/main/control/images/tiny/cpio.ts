const TRAILER = 'TRAILER!!!'
const TYPE = { directory: 0o040000, file: 0o100000, symlink: 0o120000 } as const

/** A file of the guest's root, path without a leading slash. */
export type RootEntry = { path: string; mode: number } & (
  | { kind: 'directory' }
  | { kind: 'file'; content: Buffer }
  | { kind: 'symlink'; target: string }
)

/** A newc archive, the form an initramfs has. Sorted, owned by root, times zero: the same entries give the same bytes. Pure. */
export function cpioArchive(entries: readonly RootEntry[]): Buffer {
  const sorted = [...entries].sort((a, b) => (a.path < b.path ? -1 : 1))
  const parts = sorted.flatMap((entry, index) => {
    const content = entry.kind === 'file' ? entry.content : Buffer.from(entry.kind === 'symlink' ? entry.target : '')
    return member(entry.path, TYPE[entry.kind] | entry.mode, content, index + 1)
  })
  return Buffer.concat([...parts, ...member(TRAILER, 0, Buffer.alloc(0), 0)])
}

function member(path: string, mode: number, content: Buffer, inode: number): Buffer[] {
  const name = Buffer.from(`${path}\0`)
  const links = 1
  const fields = [inode, mode, 0, 0, links, 0, content.length, 0, 0, 0, 0, name.length, 0]
  const header = `070701${fields.map((n) => n.toString(16).padStart(8, '0')).join('')}`
  const head = Buffer.concat([Buffer.from(header), name])
  return [head, padding(head.length), content, padding(content.length)]
}

const padding = (length: number) => Buffer.alloc((4 - (length % 4)) % 4)
