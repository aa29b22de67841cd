import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from './root.ts'

const GENERATED = 'src/ipc/gen'

function contents(dir: string): Map<string, string> {
  const files = readdirSync(dir, { recursive: true }) as string[]
  const plain = files.filter((name) => statSync(join(dir, name)).isFile()).sort()
  return new Map(plain.map((name) => [name, readFileSync(join(dir, name), 'utf8')]))
}

const temp = mkdtempSync(join(tmpdir(), 'eitri-gen-'))
try {
  const buf = join(root, 'node_modules/.bin/buf')
  execFileSync(buf, ['generate', '-o', temp], { cwd: root, stdio: 'inherit' })
  const fresh = contents(join(temp, GENERATED))
  const committed = contents(join(root, GENERATED))
  const names = [...new Set([...fresh.keys(), ...committed.keys()])]
  const stale = names.filter((name) => fresh.get(name) !== committed.get(name))
  for (const name of stale) console.error(`${GENERATED}/${name} is not what "npm run gen" makes of the contracts`)
  if (fresh.size === 0) console.error('nothing was generated')
  process.exitCode = stale.length > 0 || fresh.size === 0 ? 1 : 0
} finally {
  rmSync(temp, { recursive: true, force: true })
}
