import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { root } from './root.ts'

const CONTRACTS = ['buf.yaml', 'src/ipc/proto']

/** What the contracts of a checkout are held against, or why there is nothing. */
type Baseline = { ref: string; words: string } | { none: string; fault: boolean }

const git = (dir: string, ...args: string[]) =>
  spawnSync('git', ['-C', dir, ...args], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })

/** The newest release before this commit, else its parent. */
function baselineOf(dir: string): Baseline {
  if (git(dir, 'rev-parse', '--git-dir').status !== 0)
    return { none: 'this is no checkout: there is nothing to compare with', fault: false }
  if (git(dir, 'rev-parse', '--verify', '--quiet', 'HEAD^').status !== 0) {
    const shallow = git(dir, 'rev-parse', '--is-shallow-repository').stdout.trim() === 'true'
    return shallow
      ? { none: 'this checkout has one commit only: fetch at least its parent (git fetch --deepen 1)', fault: true }
      : { none: 'this is the first commit: there is nothing to compare with', fault: false }
  }
  const tag = git(dir, 'describe', '--tags', '--abbrev=0', '--match', 'v[0-9]*', 'HEAD^')
  const ref = tag.status === 0 ? tag.stdout.trim() : 'HEAD^'
  return { ref, words: tag.status === 0 ? `release ${ref}` : 'the commit before' }
}

/** Whether what is in the working tree breaks who was built against the baseline; says so line by line. */
function checkBreaking(dir: string): boolean {
  const baseline = baselineOf(dir)
  if ('none' in baseline) {
    console.log(baseline.none)
    return !baseline.fault
  }
  const temp = mkdtempSync(join(tmpdir(), 'eitri-breaking-'))
  try {
    const tar = join(temp, 'before.tar')
    execFileSync('git', ['-C', dir, 'archive', '--format=tar', '-o', tar, baseline.ref, '--', ...CONTRACTS])
    const { status, stdout, stderr } = spawnSync(
      join(root, 'node_modules/.bin/buf'),
      ['breaking', dir, '--against', tar],
      { encoding: 'utf8', cwd: dir },
    )
    const said = `${stdout}${stderr}`.replaceAll(`${dir}/`, '').trim()
    if (status === 0) console.log(`nothing breaks who reads the contracts as of ${baseline.words}`)
    else console.error(`the contracts break who reads them as of ${baseline.words}:\n${said}`)
    return status === 0
  } finally {
    rmSync(temp, { recursive: true, force: true })
  }
}

const { values } = parseArgs({ options: { dir: { type: 'string', default: root } } })
process.exitCode = checkBreaking(values.dir) ? 0 : 1
