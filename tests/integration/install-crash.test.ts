import { type SpawnSyncReturns, spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { InstallJob } from '../support/crash/install-child.ts'

/** What the host's own tools do to the files of a test's host. */
const TOOLS: Record<string, string> = {
  systemctl: 'exit 0',
  loginctl: 'case $1 in show-user) cat "$D/linger";; *) echo yes > "$D/linger";; esac',
  crontab: 'case $1 in -l) cat "$D/crontab";; *) cp "$1" "$D/crontab";; esac',
  groupadd: 'echo "eitri:x:990:" >> "$D/etc/group"',
  usermod: 'sed -i "s/^eitri:x:990:.*/eitri:x:990:$3/" "$D/etc/group"',
  groupdel: 'sed -i "/^eitri:/d" "$D/etc/group"',
  gpasswd: 'sed -i "s/^eitri:x:990:.*/eitri:x:990:/" "$D/etc/group"',
  'rc-update': 'exit 0',
  'rc-service': 'exit 0',
}
const root = { uid: 0, init: 'systemd', cron: false, kind: 'bundle', steer: ['alice'], command: 'install' } as const
const bob = { ...root, uid: 1000, steer: [] } as const

/** What is done, on what kind of host, and what is there before. */
const CASES: Record<string, Omit<InstallJob, 'dir'> & { group?: string; refused?: true }> = {
  'for root under systemd': root,
  'for root under OpenRC, as one executable': { ...root, init: 'openrc', kind: 'executable' },
  'for root where the group is there': { ...root, group: 'eitri:x:990:\n' },
  'for a login with a manager of its own': bob,
  'for a login with cron': { ...bob, init: 'none', cron: true },
  'that is refused at its end': { ...root, steer: ['no login'], refused: true },
  'of a systemd unit that comes and goes': { ...root, command: 'service' },
  'of an OpenRC script that comes and goes': { ...root, command: 'service', init: 'openrc' },
}

let place: string
let program: string
beforeAll(async () => {
  place = mkdtempSync(join(tmpdir(), 'eitri-install-crash-'))
  program = join(place, 'child.mjs')
  const entry = new URL('../support/crash/install-child.ts', import.meta.url).pathname
  const banner = { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url)" }
  const options = { bundle: true, platform: 'node', format: 'esm', logLevel: 'error', banner } as const
  await build({ ...options, entryPoints: [entry], outfile: program })
})
afterAll(() => rmSync(place, { recursive: true, force: true }))

function newHost(group = ''): string {
  const dir = mkdtempSync(join(place, 'host-'))
  for (const name of ['bin', 'etc', 'home', 'run', 'run/eitri', 'etc/init.d']) mkdirSync(join(dir, name))
  for (const [name, script] of Object.entries(TOOLS)) {
    writeFileSync(join(dir, 'bin', name), `#!/bin/sh\nD='${dir}'\n${script}\n`)
    chmodSync(join(dir, 'bin', name), 0o755)
  }
  writeFileSync(join(dir, 'etc/group'), `root:x:0:\n${group}`)
  writeFileSync(join(dir, 'crontab'), '0 1 * * * mine\n')
  writeFileSync(join(dir, 'linger'), 'no\n')
  writeFileSync(join(dir, 'program'), 'the program')
  return dir
}

function runJob(job: InstallJob, env: Record<string, string> = {}): SpawnSyncReturns<string> {
  return spawnSync(process.execPath, [program, JSON.stringify(job)], {
    env: { ...process.env, ...env },
    encoding: 'utf8',
  })
}

/** Of each name the middle of its call, else before it. */
function placesIn(log: string): string[] {
  const all = readFileSync(log, 'utf8').trim().split('\n')
  return all.filter((place) =>
    place.endsWith(':before') ? !all.includes(place.replace('before', 'between')) : place.endsWith(':between'),
  )
}

/** Everything below a host but its tools: names, kinds, modes and texts. */
function contents(dir: string): string[] {
  return readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .filter((name) => !/^(bin|program|linger|reached)(\/|$)/.test(name))
    .map((name) => {
      const path = join(dir, name)
      const stat = lstatSync(path)
      const text = stat.isFile() ? readFileSync(path, 'utf8') : stat.isSymbolicLink() ? readlinkSync(path) : ''
      return `${name} ${(stat.mode & 0o7777).toString(8)} ${text.replaceAll(dir, '')}`
    })
    .sort()
}

describe('an install that is killed', () => {
  const reached = new Set<string>()

  it.each(Object.keys(CASES))(
    '%s, at any step, leaves nothing that doing it again does not put right',
    (name) => {
      const { group, refused, ...rest } = CASES[name]!
      const job = (dir: string, change: Partial<InstallJob> = {}): InstallJob => ({ ...rest, dir, ...change })
      const wrong: string[] = []
      const commands: InstallJob['command'][] =
        rest.command === 'install' && !refused ? ['install', 'uninstall'] : [rest.command]
      const whole = newHost(group)
      const untouched = contents(whole)
      for (const command of commands) {
        const log = join(whole, 'reached')
        rmSync(log, { force: true })
        const before = command === 'uninstall'
        runJob(job(whole, { command }), { EITRI_FAILPOINT_LOG: log })
        const right = refused ? gone(contents(whole)) : contents(whole)
        if (before || refused) expect(gone(right)).toEqual(gone(untouched))
        for (const place of placesIn(log)) {
          reached.add(place.split(':')[0]!)
          const dir = newHost(group)
          if (before) runJob(job(dir))
          const killed = runJob(job(dir, { command }), { EITRI_FAILPOINT: place })
          if (killed.signal !== 'SIGKILL') wrong.push(`${command} ${place}: not reached`)
          const again = runJob(job(dir, { command }))
          if ((again.status === 0) === (refused === true))
            wrong.push(`${command} ${place}: ${again.stderr.slice(-300)}`)
          // What a killed try put there is no longer new to the next, which is refused: an uninstall takes it.
          if (refused) runJob(job(dir, { command: 'uninstall' }))
          const found = refused ? gone(contents(dir)) : contents(dir)
          for (const line of found.filter((line) => !right.includes(line)))
            wrong.push(`${command} ${place}: has ${line}`)
          for (const line of right.filter((line) => !found.includes(line)))
            wrong.push(`${command} ${place}: lacks ${line}`)
          rmSync(dir, { recursive: true, force: true })
        }
      }
      expect(wrong).toEqual([])
      expect(existsSync(join(whole, 'bin'))).toBe(true)
    },
    120_000,
  )

  it('was killed at every step there is in the code but those that need a running agent', async () => {
    const { FAILPOINTS } = await import('../../src/agent/os/failpoints.ts')
    const names = FAILPOINTS.filter((name) =>
      /^(install|program|bundle|wrapper|group|run-dir|unit|systemd|linger|user-manager|openrc|cron|uninstall)\./.test(
        name,
      ),
    )
    const missed = names.filter((name) => !reached.has(name))
    console.log(
      `failpoints of install hit = ${names.length - missed.length} of ${names.length}; not: ${missed.join(' ') || 'none'}`,
    )
    // Leftovers of a killed install come only after one; a state directory that is a mount point is none here.
    expect(missed).toEqual(['install.clean', 'uninstall.clean', 'uninstall.empty'])
  })

  /** An uninstall leaves directories that others may use. */
  const gone = (lines: string[]): string[] => lines.filter((line) => !/ 755 $| 700 $/.test(line))
})
