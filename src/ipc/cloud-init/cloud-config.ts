import { checkKey, checkPasswords, checkUser, PRIVATE_KEY } from './accounts.ts'
import { FILE_KEYS, MAP_KEYS, NETWORK_KEYS, TOP_KEYS } from './config-keys.ts'
import { ConfigReader, keyAt, noItem, truthOf, valueAt } from './config-reader.ts'
import { quoted, type Remark, Unreadable } from './finding.ts'
import { checkFleet } from './fleet-payload.ts'
import { constructYaml } from './yaml-construct.ts'
import { readYaml, type YamlMap, type YamlNode } from './yaml-tree.ts'
import { isNothing, scalarValue, textOf } from './yaml-value.ts'

const NOT_PRINTABLE = /[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ud800-\udfff\ue000-\ufffd]/

/** What is to be said of a cloud-config from `from` on; `written` is the text before its templates were taken out. */
export function checkCloudConfig(text: string, from: number, written = text): Remark[] {
  const control = NOT_PRINTABLE.exec(text.slice(from))
  if (control)
    return [
      {
        at: from + control.index,
        severity: 'error',
        rule: 'control-character',
        what: 'a character no YAML may hold stands here, and nothing of the document is read',
        fix: 'Take it out; it cannot be seen in most editors.',
        edits: [{ start: from + control.index, end: from + control.index + 1, text: '' }],
      },
    ]
  try {
    const root = readYaml(text, from)
    if (!root || isNothing(root))
      return [
        {
          at: from,
          severity: 'warning',
          rule: 'empty',
          what: 'there is nothing in this cloud-config but comments',
          fix: 'Write what is wanted, or leave the user-data empty.',
        },
      ]
    if (root.kind !== 'map')
      throw new Unreadable(
        root.start,
        'not-a-map',
        'a cloud-config is "key: value" at its top, and this is none, so cloud-init passes over all of it',
        'Begin with a key such as "packages:".',
      )
    const twice = constructYaml(root, text).filter(() => !written.includes('{%'))
    return [...twice, ...checkRoot(root, written)]
  } catch (error) {
    if (error instanceof Unreadable) return [error.remark]
    throw error
  }
}

function checkRoot(root: YamlMap, text: string): Remark[] {
  const reader = new ConfigReader(text)
  const network = root.pairs.find(([key]) => NETWORK_KEYS.has(textOf(key) ?? ''))?.[0]
  if (network)
    reader.tell(
      network.start,
      'warning',
      'network-config',
      'network configuration in user-data is passed over: it is a document of its own, and the host writes it',
      'Take it out.',
    )
  const known = network
    ? { ...TOP_KEYS, ...Object.fromEntries([...NETWORK_KEYS].map((name) => [name, 'any'])) }
    : TOP_KEYS
  reader.map(root, known, 'at the top')
  for (const [name, keys] of Object.entries(MAP_KEYS)) {
    const map = valueAt(root, name)
    if (map?.kind === 'map') reader.map(map, keys, `in ${name}`)
  }
  for (const name of ['runcmd', 'bootcmd']) reader.each(valueAt(root, name), checkCommand)
  reader.each(valueAt(root, 'write_files'), checkFile)
  reader.each(valueAt(root, 'users'), checkUser)
  reader.each(valueAt(root, 'packages'), checkPackage)
  reader.each(valueAt(root, 'ssh_authorized_keys'), checkKey)
  checkValues(reader, root)
  checkFleet(reader, root)
  checkEverything(reader, root, new Set())
  return reader.remarks
}

function checkCommand(reader: ConfigReader, item: YamlNode): void {
  if (item.kind === 'map')
    reader.tell(
      item.start,
      'error',
      'map-for-command',
      'a colon with a space makes a map of this command, and then none of the commands is run',
      'Put the whole command in quotes.',
      quoted(reader.text, item.start, item.end),
    )
  else if (item.kind === 'scalar') {
    if (isNothing(item)) reader.noValue(item.start, 'this item has no command', item)
    else reader.scalarText(item, 'a command', 'error')
  } else reader.each(item, checkWord)
}

function checkWord(reader: ConfigReader, word: YamlNode): void {
  if (word.kind !== 'scalar') return
  const value = scalarValue(word)
  const same = value.type === 'number' && value.written === 'decimal' && `${value.value}` === word.text
  if (!same && value.type !== 'date') reader.scalarText(word, 'a word of a command')
}

function checkFile(reader: ConfigReader, item: YamlNode): void {
  if (item.kind !== 'map') {
    noItem(reader, item, 'write_files')
    return
  }
  reader.map(item, FILE_KEYS, 'in a file of write_files')
  if (!valueAt(item, 'path') && !item.pairs.some(([key]) => key.kind === 'scalar' && key.text === '<<'))
    reader.tell(
      item.start,
      'error',
      'no-path',
      'a file of write_files has no path, and is not written',
      'Give it "path:".',
    )
  const content = valueAt(item, 'content')
  const key = keyAt(item, 'content')
  if (content && key && content.kind !== 'scalar') reader.wrongShape(key, 'content', ['text'], 'error')
  else if (content?.kind === 'scalar') reader.scalarText(content, 'the content of a file', 'error')
  checkPermissions(reader, valueAt(item, 'permissions'))
}

/** Modes that people mean; none of them, read as decimal, is one of the others. JSON knows only decimals. */
const MODES = new Set('400 440 444 500 550 555 600 640 644 660 664 700 750 755 770 775 777'.split(' '))

function checkPermissions(reader: ConfigReader, node: YamlNode | undefined): void {
  if (node?.kind !== 'scalar' || reader.isTemplate(node)) return
  const value = scalarValue(node)
  const edits = quoted(reader.text, node.start, node.end)
  if (value.type === 'number' && value.written === 'decimal' && value.value !== 0n) {
    if (MODES.has(value.value.toString(8))) return
    reader.tell(
      node.start,
      'error',
      'permissions',
      `without quotes this is the decimal number ${node.text}, which is mode ${value.value.toString(8)}`,
      'Put it in quotes.',
      edits,
    )
  } else if (value.type === 'number') reader.scalarText(node, 'permissions')
  else if (value.type !== 'nothing' && !(value.type === 'text' && /^\s*(?:0o)?[0-7]{1,5}\s*$/.test(value.value)))
    reader.tell(
      node.start,
      'warning',
      'permissions',
      'permissions are an octal number, and anything else counts as 0644',
      "Write them as in '0644'.",
    )
}

function checkPackage(reader: ConfigReader, item: YamlNode): void {
  if (isNothing(item)) reader.noValue(item.start, 'this item names no package', item)
  else if (item.kind === 'scalar') reader.scalarText(item, 'the name of a package')
  else reader.each(item, checkVersion)
}

function checkVersion(reader: ConfigReader, word: YamlNode): void {
  if (word.kind === 'scalar') reader.scalarText(word, 'a package or its version')
}

function checkValues(reader: ConfigReader, root: YamlMap): void {
  checkPasswords(reader, root)
  const pwauth = valueAt(root, 'ssh_pwauth')
  if (
    pwauth &&
    truthOf(pwauth) === undefined &&
    textOf(pwauth)?.toLowerCase() !== 'unchanged' &&
    !reader.isTemplate(pwauth)
  )
    reader.tell(
      pwauth.start,
      'warning',
      'wrong-value',
      '"ssh_pwauth" must be true, false or unchanged, and anything else changes nothing',
      'Write true or false.',
    )
  const zone = valueAt(root, 'timezone')
  const zoneName = textOf(zone)
  if (zone && zoneName !== undefined && !reader.isTemplate(zone) && !isTimeZone(zoneName))
    reader.tell(
      zone.start,
      'warning',
      'timezone',
      'there is no time zone of this name, and then the zone of the image stays',
      'Name a region and a city, as in Europe/Berlin.',
    )
}

function isTimeZone(name: string): boolean {
  if (/^(?:posix|right)\//.test(name)) return true
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
    return /^[A-Z]/.test(name)
  } catch {
    return false
  }
}

/** What holds for every value, wherever it stands. */
function checkEverything(reader: ConfigReader, node: YamlNode, seen: Set<YamlNode>): void {
  if (seen.has(node)) return
  seen.add(node)
  if (node.kind === 'map') for (const [, value] of node.pairs) checkEverything(reader, value, seen)
  else if (node.kind === 'list') for (const item of node.items) checkEverything(reader, item, seen)
  else if (PRIVATE_KEY.test(node.text))
    reader.tell(
      node.start,
      'info',
      'secret-in-clear',
      'a private key stands here as it is, and whoever may read the VM or its guest can read it',
      'Make the key inside the guest where that will do.',
    )
  else {
    const value = scalarValue(node)
    const strange = value.type === 'number' && (value.written === 'base60' || /^[1-9]\d*\.\d*[1-9]0+$/.test(node.text))
    const shortened = value.type === 'number' && /^\d+\.[1-9]0$/.test(node.text)
    if (strange || shortened) reader.scalarText(node, 'what looks like this')
  }
}
