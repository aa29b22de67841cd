/** What a template sees in a guest: names and their values; null = the guest has none. */
export interface JinjaData {
  [name: string]: string | null | readonly string[] | JinjaData
}

export interface JinjaResult {
  text: string
  /** What stays as it is written, with the line it begins in. */
  left: { line: number; what: string }[]
}

const MOST_MARKS = 2_000
const MOST_CHARS = 256 * 1024
const MARK = /\{\{[-+]?([\s\S]*?)[-+]?\}\}|\{%[-+]?([\s\S]*?)[-+]?%\}|\{#[\s\S]*?#\}/g

type Value = string | null | undefined | boolean | readonly string[] | JinjaData
class NotKnown extends Error {}

interface Branch {
  /** Of the marks around it too. */
  shown: boolean
  taken: boolean
  outer: boolean
}

/**
 * A template as a guest with this data would render it: values, `if`, `set` and five filters. What is beyond that stays
 * as it is written and is told. Bounded in marks and size; runs nothing.
 */
export function renderJinja(text: string, data: JinjaData): JinjaResult {
  const left: JinjaResult['left'] = []
  const set: Record<string, Value> = {}
  const branches: Branch[] = []
  const lineOf = (at: number) => text.slice(0, at).split('\n').length
  const shown = () => branches.at(-1)?.shown ?? true
  let out = ''
  let at = 0
  let marks = 0
  for (const match of text.matchAll(MARK)) {
    if (match.index < at) continue
    if (shown()) out += text.slice(at, match.index)
    at = match.index + match[0].length
    const [mark, expression, statement] = match
    if (++marks > MOST_MARKS || out.length > MOST_CHARS) {
      left.push({ line: lineOf(match.index), what: 'the rest of a very large template' })
      return { text: out + text.slice(match.index), left }
    }
    // cloud-init renders with trim_blocks: a break right behind a block goes with it.
    if (expression === undefined && text[at] === '\n') at++
    try {
      if (expression !== undefined) {
        if (shown()) out += written(evaluate(expression, data, set), expression)
      } else if (statement !== undefined) step(statement.trim(), branches, (e) => evaluate(e, data, set), set)
    } catch (error) {
      if (!(error instanceof NotKnown)) throw error
      if (
        statement !== undefined &&
        /^(?:for|macro|call|filter|block|raw|include|import|from|extends)\b/.test(statement.trim())
      ) {
        left.push({ line: lineOf(match.index), what: `{% ${error.message} %} and all behind it` })
        return { text: out + text.slice(match.index), left }
      }
      if (!shown()) continue
      left.push({ line: lineOf(match.index), what: error.message })
      out += mark
    }
  }
  return { text: out + (shown() ? text.slice(at) : ''), left }
}

function step(
  statement: string,
  branches: Branch[],
  evaluated: (e: string) => Value,
  set: Record<string, Value>,
): void {
  const [, word = '', rest = ''] = /^(\w+)\s*([\s\S]*)$/.exec(statement) ?? []
  const outer = branches.at(-1)?.shown ?? true
  const current = branches.at(-1)
  if (word === 'if') {
    const is = outer && truth(evaluated(rest))
    branches.push({ shown: is, taken: is, outer })
  } else if (word === 'elif' && current) {
    current.shown = current.outer && !current.taken && truth(evaluated(rest))
    current.taken ||= current.shown
  } else if (word === 'else' && current) {
    current.shown = current.outer && !current.taken
    current.taken = true
  } else if (word === 'endif' && current) branches.pop()
  else if (word === 'set' && /^\w+\s*=[^=]/.test(rest)) {
    const [, name = '', value = ''] = /^(\w+)\s*=([\s\S]*)$/.exec(rest) ?? []
    if (outer) set[name] = evaluated(value)
  } else throw new NotKnown(word || statement.slice(0, 40))
}

const truth = (value: Value): boolean => (Array.isArray(value) ? value.length > 0 : Boolean(value))

function evaluate(source: string, data: JinjaData, set: Record<string, Value>): Value {
  const expression = source.trim()
  const both = /^([\s\S]+?)\s+(and|or)\s+([\s\S]+)$/.exec(expression)
  if (both && !/["']/.test(expression)) {
    const first = evaluate(both[1]!, data, set)
    return truth(first) === (both[2] === 'and') ? evaluate(both[3]!, data, set) : first
  }
  if (/^not\s+/.test(expression)) return !truth(evaluate(expression.slice(4), data, set))
  const compared = /^([\w.]+|"[^"]*"|'[^']*')\s*(==|!=)\s*([\w.]+|"[^"]*"|'[^']*')$/.exec(expression)
  if (compared) {
    const same = evaluate(compared[1]!, data, set) === evaluate(compared[3]!, data, set)
    return compared[2] === '==' ? same : !same
  }
  const defined = /^([\w.]+)\s+is\s+(not\s+)?defined$/.exec(expression)
  if (defined) return (find(defined[1]!, data, set) !== undefined) === (defined[2] === undefined)
  const [head = '', ...filters] = expression.split('|').map((part) => part.trim())
  return filters.reduce<Value>((value, filter) => filtered(value, filter), atom(head, data, set))
}

function atom(source: string, data: JinjaData, set: Record<string, Value>): Value {
  const text = /^(?:"([^"\\]*)"|'([^'\\]*)')$/.exec(source)
  if (text) return text[1] ?? text[2] ?? ''
  if (/^\d+$/.test(source)) return source
  if (/^(?:true|false)$/i.test(source)) return /^t/i.test(source)
  if (/^[A-Za-z_]\w*(?:(?:\.\w+)|(?:\[\d+\]))*$/.test(source)) return find(source, data, set)
  throw new NotKnown(source.slice(0, 60))
}

function find(path: string, data: JinjaData, set: Record<string, Value>): Value {
  const [first = '', ...rest] = path.replaceAll(/\[(\d+)\]/g, '.$1').split('.')
  let value: Value = Object.hasOwn(set, first) ? set[first] : Object.hasOwn(data, first) ? data[first] : undefined
  for (const name of rest) {
    if (Array.isArray(value)) value = value[Number(name)]
    else if (value !== null && typeof value === 'object' && Object.hasOwn(value, name))
      value = (value as JinjaData)[name]
    else return undefined
  }
  return value
}

function filtered(value: Value, filter: string): Value {
  const [, name = '', argument = ''] = /^(\w+)(?:\((.*)\))?$/.exec(filter) ?? []
  const [, text] = /^["']([^"'\\]*)["'](?:,\s*true)?$/i.exec(argument.trim()) ?? []
  if (name === 'default' || name === 'd')
    return (value === undefined || (/true$/i.test(argument) && !truth(value))) && text !== undefined ? text : value
  if (typeof value === 'string' && argument === '') {
    if (name === 'upper') return value.toUpperCase()
    if (name === 'lower') return value.toLowerCase()
    if (name === 'trim') return value.trim()
  }
  if (name === 'join' && Array.isArray(value)) return value.join(text ?? '')
  if (name === 'first' && Array.isArray(value)) return value[0]
  throw new NotKnown(`the filter ${name || filter.slice(0, 30)}`)
}

/** As cloud-init writes it, also for what is missing. */
function written(value: Value, expression: string): string {
  if (value === undefined) return `CI_MISSING_JINJA_VAR/${expression.trim().split('.').at(-1)?.split(/\W/)[0] ?? ''}`
  if (value === null) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (typeof value === 'string') return value
  if (Array.isArray(value)) return `[${value.map((one) => `'${one}'`).join(', ')}]`
  throw new NotKnown(expression.trim().slice(0, 60))
}

/** What a guest of this name on this image would say of itself. */
export function sampleData(vm: { name: string; os: string; arch: string; keys: readonly string[] }): JinjaData {
  const [distro = 'linux', version = ''] = vm.os.toLowerCase().split(/\s+/)
  const release = /\((\w+)/.exec(vm.os)?.[1]?.toLowerCase() ?? null
  const name = vm.name || 'vm-1'
  return {
    v1: {
      ...{ availability_zone: null, region: null, cloud_id: 'nocloud', cloud_name: 'unknown', platform: 'nocloud' },
      ...{
        distro,
        distro_version: version || null,
        distro_release: release,
        variant: distro,
        system_platform: 'linux',
      },
      ...{ instance_id: '0'.repeat(32), local_hostname: name, machine: vm.arch || 'x86_64', public_ssh_keys: vm.keys },
      ...{ kernel_release: '6.1.0-amd64', python_version: '3.11.2', subplatform: 'seed-dir (/dev/vda)' },
    },
    ds: { meta_data: { instance_id: '0'.repeat(32), local_hostname: name } },
  }
}
