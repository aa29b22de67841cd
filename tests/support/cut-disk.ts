import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { onWrite, type WriteStep } from '../../src/agent/os/write-trace.ts'

interface Inode {
  data: Buffer
  /** What is on the platters; undefined = nothing yet. */
  synced: Buffer | undefined
}
type Tree = Map<string, Inode | 'dir'>

/** What may be found after a power cut: files and directories by path. */
export interface Found {
  loss: string
  files: Map<string, Buffer | 'dir'>
}

const SECTOR = 512

/** Writes down what is written below `root`, and tells what a power cut at any moment may leave of it. */
export class CutDisk implements Disposable {
  readonly steps: WriteStep[] = []
  readonly #root: string

  constructor(root: string) {
    this.#root = root
    onWrite((step) => this.steps.push(step))
  }

  /** Nothing more is written down. */
  [Symbol.dispose](): void {
    onWrite(undefined)
  }

  /** Every state a cut after the first `count` steps may leave, each once. */
  after(count: number): Found[] {
    const { now, durable, pending } = replay(this.steps.slice(0, count))
    const states: [loss: string, tree: Tree, content: (inode: Inode) => Buffer][] = [
      ['nothing lost', now, ({ data }) => data],
      ['unsynced data gone', now, ({ synced }) => synced ?? Buffer.alloc(0)],
      ['unsynced data torn', now, (inode) => torn(inode, false)],
      ['unsynced data torn, zeros behind', now, (inode) => torn(inode, true)],
    ]
    for (let kept = 0; kept <= pending.length; kept++) {
      const tree = new Map(durable)
      for (const { apply } of pending.slice(0, kept)) apply(tree)
      states.push([`${kept} of ${pending.length} unsynced names kept`, tree, ({ synced }) => synced ?? Buffer.alloc(0)])
    }
    const seen = new Map<string, Found>()
    for (const [loss, tree, content] of states) {
      const reached = [...tree].filter(([path]) => this.#isReached(tree, path))
      const files = new Map(reached.map(([path, node]) => [path, node === 'dir' ? node : content(node)] as const))
      seen.set(keyOf(files), { loss, files })
    }
    return [...seen.values()]
  }

  /** Every directory above it has its name. */
  #isReached(tree: Tree, path: string): boolean {
    const above = dirname(path)
    return above === this.#root || (tree.get(above) === 'dir' && this.#isReached(tree, above))
  }

  /** Puts a state into a directory. */
  restore({ files }: Found, dir: string): void {
    const place = (path: string) => join(dir, relative(this.#root, path))
    for (const [path, node] of [...files].sort(([a], [b]) => a.length - b.length)) {
      if (node === 'dir') mkdirSync(place(path), { recursive: true, mode: 0o700 })
      else {
        mkdirSync(dirname(place(path)), { recursive: true, mode: 0o700 })
        writeFileSync(place(path), node, { mode: 0o600 })
      }
    }
  }
}

interface Pending {
  dir: string
  apply(tree: Tree): void
}

function replay(steps: readonly WriteStep[]): { now: Tree; durable: Tree; pending: Pending[] } {
  const now: Tree = new Map()
  const durable: Tree = new Map()
  let pending: Pending[] = []
  const name = (dir: string, apply: (tree: Tree) => void) => {
    apply(now)
    pending.push({ dir, apply })
  }
  const inode = (path: string) => now.get(path) as Inode
  for (const step of steps)
    switch (step.op) {
      case 'mkdir':
        name(dirname(step.path), (tree) => tree.set(step.path, 'dir'))
        break
      case 'create': {
        if (now.has(step.path)) break
        const created: Inode = { data: Buffer.alloc(0), synced: undefined }
        name(dirname(step.path), (tree) => tree.set(step.path, created))
        break
      }
      case 'write':
        inode(step.path).data = Buffer.concat([inode(step.path).data, step.data])
        break
      case 'cut':
        inode(step.path).data = inode(step.path).data.subarray(0, step.size)
        break
      case 'sync':
        inode(step.path).synced = inode(step.path).data
        break
      case 'rename':
        name(dirname(step.to), (tree) => moveTree(tree, step.from, step.to))
        break
      case 'remove':
        name(dirname(step.path), (tree) => dropTree(tree, step.path))
        break
      case 'sync-dir':
        for (const { dir, apply } of pending) if (dir === step.path) apply(durable)
        pending = pending.filter(({ dir }) => dir !== step.path)
        break
      case 'link':
        break
    }
  return { now, durable, pending }
}

function moveTree(tree: Tree, from: string, to: string): void {
  const moved = [...tree].filter(([path]) => path === from || path.startsWith(`${from}/`))
  if (moved.length === 0) return
  dropTree(tree, to)
  for (const [path, node] of moved) {
    tree.delete(path)
    tree.set(to + path.slice(from.length), node)
  }
}

function dropTree(tree: Tree, path: string): void {
  for (const known of [...tree.keys()]) if (known === path || known.startsWith(`${path}/`)) tree.delete(known)
}

function torn({ data, synced }: Inode, zeros: boolean): Buffer {
  if (synced && data.equals(synced)) return data
  const whole = data.subarray(0, Math.floor(data.length / 2 / SECTOR) * SECTOR)
  return zeros ? Buffer.concat([whole, Buffer.alloc(data.length - whole.length)]) : whole
}

const keyOf = (files: Found['files']): string =>
  [...files]
    .map(([path, node]) => `${path}=${node === 'dir' ? node : node.toString('base64')}`)
    .sort()
    .join('|')
