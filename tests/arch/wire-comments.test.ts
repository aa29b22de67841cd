import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ROOT } from './source-files.ts'

const FOLDER = 'src/ipc/proto/eitri/agent/v1'
const FIELD = /^ {2}(optional )?(?:repeated )?([\w.]+) (\w+) = \d+;$/
/** Numbers with a unit, and words and addresses whose emptiness says something. */
const UNIT = /_(ms|s|mb|gb|bytes)$/
const WORD = /(^|_)(ip|cidr|addr|key|detail|reason|state|phase|scope|acceleration|network|backend|digest|url|cert)$/

/** Fields of a proto file whose unit or absence a reader has to be told, and those without a comment right above. */
function fieldsOf(proto: string): { told: string[]; untold: string[] } {
  const told: string[] = []
  const untold: string[] = []
  let message = ''
  const lines = proto.split('\n')
  for (const [at, line] of lines.entries()) {
    message = /^message (\w+)/.exec(line)?.[1] ?? message
    const [, optional, type = '', name = ''] = FIELD.exec(line) ?? []
    if (name === '' || !(optional || type.endsWith('.Timestamp') || UNIT.test(name) || WORD.test(name))) continue
    const list = lines[at - 1]?.startsWith('  // ') ? told : untold
    list.push(`${message}.${name}`)
  }
  return { told, untold }
}

describe('the wire to the agent', () => {
  const protos = readdirSync(join(ROOT, FOLDER)).filter((file) => file.endsWith('.proto'))

  it.each(protos)('%s says above each field with a unit or a meaning of absence what it is', (file) => {
    expect(fieldsOf(readFileSync(join(ROOT, FOLDER, file), 'utf8')).untold).toEqual([])
  })

  it('a field that needs a comment and has none is found', () => {
    expect(fieldsOf('message A {\n  // GiB.\n  uint64 disk_gb = 1;\n  optional string power = 2;\n}\n')).toEqual({
      told: ['A.disk_gb'],
      untold: ['A.power'],
    })
  })
})
