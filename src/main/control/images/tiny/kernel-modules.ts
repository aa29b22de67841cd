/** A kernel module as its file says: `name` and the names it depends on, with `_` for `-`. */
export interface KernelModule {
  name: string
  depends: string[]
}

/** What a module's .modinfo says; undefined when the bytes are no module. Pure. */
export function readModinfo(content: Buffer): KernelModule | undefined {
  const name = modinfo(content, 'name')
  const depends = modinfo(content, 'depends')
  if (name === undefined) return undefined
  return { name: normal(name), depends: (depends ?? '').split(',').filter(Boolean).map(normal) }
}

function modinfo(content: Buffer, key: string): string | undefined {
  const start = content.indexOf(`\0${key}=`)
  if (start < 0) return undefined
  const from = start + key.length + 2
  return content.toString('latin1', from, content.indexOf(0, from))
}

/** Module and file names mix `-` and `_`; the kernel takes them for the same. */
export const normal = (name: string) => name.replaceAll('-', '_')

/** The wanted modules and all they need, each after what it depends on. A name `find` does not know is built into the kernel and left out. Pure. */
export function loadOrder(wanted: readonly string[], find: (name: string) => KernelModule | undefined): string[] {
  const order: string[] = []
  const seen = new Set<string>()
  const visit = (name: string) => {
    if (seen.has(name)) return
    seen.add(name)
    const module = find(name)
    if (!module) return
    for (const dependency of module.depends) visit(dependency)
    order.push(name)
  }
  for (const name of wanted) visit(normal(name))
  return order
}
