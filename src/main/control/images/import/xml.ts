/** An element, its names without their prefixes. */
export interface Xml {
  name: string
  attributes: Record<string, string>
  children: Xml[]
  /** Its own text, trimmed. */
  text: string
}

const MAX_ELEMENTS = 20_000
const MAX_DEPTH = 64
const ENTITIES: Record<string, string> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" }
const NAME = String.raw`[A-Za-z_][\w.-]*(?::[A-Za-z_][\w.-]*)?`
const TOKEN = new RegExp(
  String.raw`<!--[\s\S]*?-->|<\?[\s\S]*?\?>|<!\[CDATA\[([\s\S]*?)\]\]>|<(\/?)(${NAME})((?:\s+${NAME}\s*=\s*(?:"[^"<]*"|'[^'<]*'))*)\s*(\/?)>|([^<]+)`,
  'y',
)
const ATTRIBUTE = new RegExp(String.raw`(${NAME})\s*=\s*(?:"([^"]*)"|'([^']*)')`, 'g')

/**
 * The root of a document. No document type and no entities but XML's own: nothing in it can name a file or grow. Throws
 * Error that says what is wrong.
 */
export function parseXml(text: string): Xml {
  const top: Xml = { name: '', attributes: {}, children: [], text: '' }
  const open = [top]
  let elements = 0
  TOKEN.lastIndex = text.startsWith('\ufeff') ? 1 : 0
  while (TOKEN.lastIndex < text.length) {
    const at = TOKEN.lastIndex
    const token = TOKEN.exec(text)
    if (!token)
      throw new Error(text.startsWith('<!', at) ? 'it has a document type' : `it is no XML at character ${at}`)
    const [, cdata, closes, name, attributes = '', empty, words] = token
    const parent = open.at(-1)!
    if (cdata !== undefined) parent.text += cdata
    else if (words !== undefined) parent.text += decoded(words)
    else if (name === undefined) continue
    else if (closes) {
      if (open.length === 1 || parent.name !== local(name)) throw new Error(`${name} ends where it did not begin`)
      parent.text = parent.text.trim()
      open.pop()
    } else {
      const element: Xml = { name: local(name), attributes: attributesOf(attributes), children: [], text: '' }
      if (++elements > MAX_ELEMENTS || open.length > MAX_DEPTH) throw new Error('it has too many elements')
      parent.children.push(element)
      if (!empty) open.push(element)
    }
  }
  const [root] = top.children
  if (open.length > 1) throw new Error(`${open.at(-1)!.name} has no end`)
  if (!root || top.children.length > 1) throw new Error('it has not one root')
  return root
}

/** Children of that name. */
export const childrenOf = (element: Xml | undefined, name: string): Xml[] =>
  element?.children.filter((child) => child.name === name) ?? []

const local = (name: string): string => name.slice(name.indexOf(':') + 1)

function attributesOf(text: string): Record<string, string> {
  const all: [string, string][] = []
  for (const [, name = '', double, single] of text.matchAll(ATTRIBUTE))
    all.push([local(name), decoded(double ?? single ?? '')])
  return Object.fromEntries(all)
}

function decoded(text: string): string {
  return text.replace(/&(#x[0-9a-fA-F]{1,6}|#\d{1,7}|[a-z]+);/g, (whole, name: string) => {
    if (!name.startsWith('#')) {
      const known = Object.hasOwn(ENTITIES, name) ? ENTITIES[name] : undefined
      if (known === undefined) throw new Error(`it names an entity ${whole}`)
      return known
    }
    const code = name.startsWith('#x') ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1))
    return code <= 0x10ffff ? String.fromCodePoint(code) : '\ufffd'
  })
}
