import { TOP_KEYS } from '../../../ipc/cloud-init/config-keys.ts'
import { truthOf, valueAt } from '../../../ipc/cloud-init/config-reader.ts'
import { Unreadable } from '../../../ipc/cloud-init/finding.ts'
import { kindAt } from '../../../ipc/cloud-init/first-line.ts'
import { readYaml, type YamlMap, type YamlNode } from '../../../ipc/cloud-init/yaml-tree.ts'
import { isNothing, scalarValue } from '../../../ipc/cloud-init/yaml-value.ts'
import { formatBytes, plural } from '../../lib/format.ts'

/** One thing a guest will do with its user-data. */
export interface Effect {
  verb: 'write' | 'user' | 'packages' | 'run' | 'every boot' | 'name' | 'fetch' | 'set'
  what: string
  /** Mode, owner, keys: what to know of it. */
  detail: string
}

export interface Effects {
  list: Effect[]
  /** Why it is not all. */
  unread: string | undefined
}

const MOST = 200
const COMMAND_CHARS = 120
const SHOWN = new Set([
  'write_files',
  'users',
  'packages',
  'runcmd',
  'bootcmd',
  'hostname',
  'fqdn',
  'ssh_authorized_keys',
])

/** What the guest will see of a rendered text, in the order a person asks for it. Never throws; bounded. */
export function effectsOf(text: string): Effects {
  if (text.trim() === '') return { list: [], unread: undefined }
  const start = text.length - text.trimStart().length
  const kind = kindAt(text, start)
  if (kind === 'script')
    return {
      list: [
        {
          verb: 'run',
          what: `a script of ${plural(text.trimEnd().split('\n').length, 'line')}`,
          detail: text.slice(start).split(/\r?\n/, 1)[0]!,
        },
      ],
      unread: undefined,
    }
  if (kind === 'include')
    return {
      list: text
        .split(/\r?\n/)
        .filter((line) => /^\s*[a-z+]+:\/\//i.test(line))
        .slice(0, MOST)
        .map((what) => ({ verb: 'fetch', what: what.trim(), detail: 'and does what it says' })),
      unread: undefined,
    }
  if (kind !== 'cloud-config')
    return {
      list: [],
      unread:
        kind === 'mime'
          ? 'These are several documents; their effects are not listed.'
          : 'This is no cloud-config; its effects are not listed.',
    }
  try {
    const root = readYaml(text, start)
    if (root?.kind !== 'map') return { list: [], unread: undefined }
    const list = configEffects(root)
    return {
      list: list.slice(0, MOST),
      unread: list.length > MOST ? `${list.length - MOST} more are not listed.` : undefined,
    }
  } catch (error) {
    if (error instanceof Unreadable) return { list: [], unread: 'A guest cannot read it as it stands.' }
    throw error
  }
}

function configEffects(root: YamlMap): Effect[] {
  const others = root.pairs.map(([key]) => plain(key)).filter((key) => Object.hasOwn(TOP_KEYS, key) && !SHOWN.has(key))
  const packages = itemsOf(root, 'packages').map((node) =>
    node.kind === 'list' ? node.items.map(plain).join(' ') : plain(node),
  )
  const hostname = plain(valueAt(root, 'fqdn')) || plain(valueAt(root, 'hostname'))
  const keys = itemsOf(root, 'ssh_authorized_keys')
  return [
    ...(hostname ? [effect('name', hostname, 'host name, in place of the one of this VM')] : []),
    ...itemsOf(root, 'write_files').map(fileEffect),
    ...itemsOf(root, 'users').map(userEffect),
    ...(keys.length > 0 ? [effect('user', 'the first user', keys.map(shortKey).join(', '))] : []),
    ...(packages.length > 0
      ? [effect('packages', packages.join(' '), packages.length > 1 ? `${packages.length}` : '')]
      : []),
    ...itemsOf(root, 'bootcmd').map((node) => effect('every boot', command(node), '')),
    ...itemsOf(root, 'runcmd').map((node) => effect('run', command(node), '')),
    ...others.map((key) => effect('set', key, '')),
  ]
}

const effect = (verb: Effect['verb'], what: string, detail: string): Effect => ({ verb, what, detail })

function fileEffect(node: YamlNode): Effect {
  if (node.kind !== 'map') return effect('write', plain(node), '')
  const content = valueAt(node, 'content')
  const size = content?.kind === 'scalar' ? new TextEncoder().encode(content.text).length : 0
  const encoding = plain(valueAt(node, 'encoding'))
  const mode = modeOf(valueAt(node, 'permissions'))
  const details = [
    mode,
    plain(valueAt(node, 'owner')),
    truthOf(valueAt(node, 'append')) ? 'appended' : '',
    valueAt(node, 'source') ? 'fetched in the guest' : encoding || formatBytes(size),
  ]
  return effect('write', plain(valueAt(node, 'path')) || 'a file without a path', details.filter(Boolean).join(' · '))
}

/** As Python reads it: text in octal digits, or a number that was octal only if YAML took it for that. */
function modeOf(node: YamlNode | undefined): string {
  if (node?.kind !== 'scalar' || isNothing(node)) return '0644'
  const value = scalarValue(node)
  if (value.type === 'number' && typeof value.value === 'bigint') return value.value.toString(8).padStart(4, '0')
  return value.type === 'text' && /^\s*(?:0o)?[0-7]{1,5}\s*$/.test(value.value)
    ? value.value.trim().replace('0o', '').padStart(4, '0')
    : '0644'
}

function userEffect(node: YamlNode): Effect {
  if (node.kind !== 'map')
    return effect('user', plain(node) === 'default' ? 'the first user of the image' : plain(node), '')
  const keys = itemsOf(node, 'ssh_authorized_keys').concat(itemsOf(node, 'ssh-authorized-keys'))
  const sudo = valueAt(node, 'sudo')
  const groups = valueAt(node, 'groups')
  const details = [
    keys.map(shortKey).join(', '),
    sudo && truthOf(sudo) !== false && !isNothing(sudo) ? 'may do anything with sudo' : '',
    groups ? `in ${groups.kind === 'list' ? groups.items.map(plain).join(', ') : plain(groups)}` : '',
  ]
  return effect(
    'user',
    plain(valueAt(node, 'name')) || 'without a name',
    details.filter(Boolean).join(' · ') || 'no key',
  )
}

/** `ED25519 …9wQk ops@laptop` */
export function shortKey(node: YamlNode | string): string {
  const [, kind = '', body = '', comment = ''] =
    /(?:^|\s)(?:ssh-|ecdsa-sha2-|sk-(?:ssh-)?)([a-z0-9]+)\S*\s+([A-Za-z0-9+/=]+)\s*(.*)$/.exec(
      typeof node === 'string' ? node : plain(node),
    ) ?? []
  return body === ''
    ? 'a key'
    : `${kind.toUpperCase()} …${body.replace(/=+$/, '').slice(-4)}${comment ? ` ${comment}` : ''}`
}

function command(node: YamlNode): string {
  if (node.kind === 'map') return 'a map, which is no command'
  const text = node.kind === 'list' ? node.items.map(plain).join(' ') : plain(node).trim()
  const [first = ''] = text.split('\n', 1)
  const more = text.split('\n').length - 1
  return `${first.slice(0, COMMAND_CHARS)}${first.length > COMMAND_CHARS ? '…' : ''}${more > 0 ? ` (+${plural(more, 'line')})` : ''}`
}

function itemsOf(map: YamlMap, key: string): YamlNode[] {
  const node = valueAt(map, key)
  return node?.kind === 'list' ? node.items.slice(0, MOST * 2) : []
}

const plain = (node: YamlNode | undefined): string => (node?.kind === 'scalar' && !isNothing(node) ? node.text : '')
