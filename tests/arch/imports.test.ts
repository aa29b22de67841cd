import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ROOT } from './source-files.ts'

const CONFIG = 'dependency-cruiser.cjs'
/** Fewer means that the parser saw nothing, which it does without an error. */
const MODULES_FLOOR = 300

interface Cruise {
  summary: { totalCruised: number; violations: { rule: { name: string }; from: string; to: string }[] }
}

function cruise(dir: string): Cruise['summary'] {
  const bin = join(ROOT, 'node_modules/.bin/depcruise')
  const args = ['--config', CONFIG, '--output-type', 'json', 'src']
  const json = execFileSync(bin, args, { cwd: dir, maxBuffer: 64 << 20, stdio: ['ignore', 'pipe', 'ignore'] })
  return (JSON.parse(json.toString()) as Cruise).summary
}

const LEAF = 'export const x = 1\n'
const importing = (path: string) => `import { x } from '${path}'\nexport const y = x\n`

/** For each rule, files that break it; `#` in names stands for the rule. */
const PLANTED: Record<string, Record<string, string>> = {
  'headless-never-reaches-electron': {
    'src/main/control/#.ts': importing('../../ipc/#.ts'),
    'src/ipc/#.ts': "import type { App } from 'electron'\nexport const x: App | 1 = 1\n",
  },
  'electron-only-in-the-shell': { 'src/renderer/#.ts': "import { app } from 'electron'\nexport const x = app\n" },
  'control-not-to-shell': { 'src/main/control/#.ts': importing('../cli/#.ts'), 'src/main/cli/#.ts': LEAF },
  'control-only-by-the-front-door': {
    'src/main/serving/#.ts': importing('../control/store/#.ts'),
    'src/main/control/store/#.ts': LEAF,
  },
  'src-stands-alone': { 'src/agent/#.ts': importing('../../tests/#.ts'), 'tests/#.ts': LEAF },
  'ipc-is-pure': { 'src/ipc/#.ts': "import { readFileSync } from 'node:fs'\nexport const x = readFileSync\n" },
  'agent-only-ipc': { 'src/agent/#.ts': importing('../main/#.ts'), 'src/main/#.ts': LEAF },
  'renderer-only-ipc': { 'src/renderer/#.tsx': importing('../agent/#.ts'), 'src/agent/#.ts': LEAF },
  'main-not-to-others': { 'src/main/control/#.ts': importing('../../agent/#.ts'), 'src/agent/#.ts': LEAF },
  'not-to-unresolvable': { 'src/agent/#.ts': importing('./nowhere.ts') },
  'no-circular': {
    'src/agent/#.ts': "import { y } from './#-too.ts'\nexport const x = y\n",
    'src/agent/#-too.ts': importing('./#.ts'),
  },
}

/** Rules broken by the planted files of a rule, all planted into one tree of their own. */
function brokenByPlants(): Map<string, Set<string>> {
  const dir = mkdtempSync(join(tmpdir(), 'eitri-arch-'))
  try {
    for (const name of [CONFIG, 'tsconfig.base.json']) copyFileSync(join(ROOT, name), join(dir, name))
    for (const [rule, files] of Object.entries(PLANTED))
      for (const [path, text] of Object.entries(files)) {
        const file = join(dir, path.replaceAll('#', rule))
        mkdirSync(dirname(file), { recursive: true })
        writeFileSync(file, text.replaceAll('#', rule))
      }
    const broken = new Map(Object.keys(PLANTED).map((rule) => [rule, new Set<string>()]))
    for (const { from, rule } of cruise(dir).violations)
      for (const [planted, rules] of broken) if (from.includes(planted)) rules.add(rule.name)
    return broken
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

describe('imports', () => {
  it('go only in the directions the architecture allows', () => {
    const { totalCruised, violations } = cruise(ROOT)
    expect(violations.map(({ rule, from, to }) => `${rule.name}: ${from} → ${to}`)).toEqual([])
    expect(totalCruised).toBeGreaterThan(MODULES_FLOOR)
  })

  it('are judged by rules that each have a planted violation', () => {
    const { forbidden } = createRequire(import.meta.url)(join(ROOT, CONFIG)) as { forbidden: { name: string }[] }
    expect(forbidden.map(({ name }) => name).sort()).toEqual(Object.keys(PLANTED).sort())
  })

  it('break each rule when planted so', () => {
    for (const [rule, broken] of brokenByPlants()) expect([...broken], rule).toContain(rule)
  })
})
