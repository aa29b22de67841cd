import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { access, constants } from 'node:fs/promises'
import { dirname } from 'node:path'
import { z } from 'zod'
import { faultLine } from '../../ipc/fault-text.ts'
import { asFault } from '../../ipc/faults.ts'
import type { RunningProgram } from '../install/self.ts'
import { readIfPresent } from '../os/files.ts'
import { fileDesired } from '../records/desired-state.ts'
import { requireUsable } from '../records/identity.ts'
import type { AgentLayout } from '../records/layout.ts'
import { requireStateDirs } from '../records/state-dir.ts'
import { fileRecords } from '../records/vm-records.ts'

const MIN_NODE = 24

/** One thing that was looked at. A `warning` keeps no agent from running. */
export interface Check {
  name: string
  state: 'ok' | 'warning' | 'failed'
  detail: string
}

/** `selfcheck --json`: what an older agent reads of a newer one before it makes room for it. */
export const SelfCheck = z.object({
  ok: z.boolean(),
  version: z.string(),
  build_digest: z.string(),
  /** Files of VMs and of what is wanted that are there and that this agent cannot read. */
  unreadable: z.number(),
  checks: z.array(z.object({ name: z.string(), state: z.string(), detail: z.string() })),
})
export type SelfCheck = z.infer<typeof SelfCheck>

export interface SelfCheckInput {
  layout: AgentLayout
  socketPath: string
  program: RunningProgram
  version: string
  digest: string
  node?: string
}

/** Looks whether this program could run the agent of this state directory; changes nothing. Never raises. */
export async function selfCheck(input: SelfCheckInput): Promise<SelfCheck> {
  const { layout, version, digest } = input
  const unreadable = await unreadableFiles(layout)
  const checks: Check[] = [
    checkNode(input.node ?? process.versions.node),
    await judged('program', () => programWords(input)),
    await judged('state directory', async () => {
      await requireStateDirs(layout)
      return layout.stateDir
    }),
    await judged('identity', async () => {
      await requireUsable(layout.identity)
      return existsSync(layout.identity) ? layout.identity : 'none yet'
    }),
    {
      name: 'records',
      state: unreadable.length === 0 ? 'ok' : 'warning',
      detail: unreadable.length === 0 ? 'all can be read' : unreadable.slice(0, 5).join('; '),
    },
    await judged('socket directory', () => socketDirWords(input.socketPath)),
  ]
  const ok = checks.every(({ state }) => state !== 'failed')
  return { ok, version, build_digest: digest, unreadable: unreadable.length, checks }
}

/** Files of this state directory that this program cannot read, with why. Empty = it can read all. */
export async function unreadableFiles(layout: AgentLayout): Promise<string[]> {
  const records = fileRecords(layout)
  const found: string[] = []
  for (const id of await records.list().catch(() => [])) {
    const read = await records.read(id)
    if (read.kind === 'unreadable') found.push(`${layout.vmDir(id).record}: ${read.problem}`)
  }
  const wanted = await fileDesired(layout.desired).load()
  if (wanted.kind === 'unreadable') found.push(`${layout.desired}: ${wanted.problem}`)
  return found
}

/** For a person on the host. */
export const selfCheckText = ({ ok, version, checks }: SelfCheck): string =>
  [
    ...checks.map(({ name, state, detail }) => `${{ ok: '-', warning: '!' }[state] ?? 'x'} ${name}: ${detail}`),
    ok ? `Agent ${version} can run here.` : `Agent ${version} cannot run here.`,
  ].join('\n')

function checkNode(version: string): Check {
  const newEnough = Number(version.split('.')[0]) >= MIN_NODE
  return {
    name: 'node',
    state: newEnough ? 'ok' : 'failed',
    detail: newEnough ? version : `${version}; it needs ${MIN_NODE} or newer`,
  }
}

async function judged(name: string, work: () => Promise<string>): Promise<Check> {
  try {
    return { name, state: 'ok', detail: await work() }
  } catch (error) {
    const { code, params } = asFault(error)
    const words = code === 'app/bug' ? (params['message'] ?? '') : faultLine(code, params)
    return { name, state: 'failed', detail: words.slice(0, 300) }
  }
}

const ZERO_DIGEST = '0'.repeat(64)

/** A bundle carries the digest of itself with its digits as zeros; of an executable the file's digest is known outside. */
async function programWords({ program, digest }: SelfCheckInput): Promise<string> {
  if (program.kind !== 'bundle' || digest === '') return program.kind === 'source' ? 'run from source' : program.file
  const text = (await readIfPresent(program.file))?.toString('utf8') ?? ''
  const found = createHash('sha256').update(text.replaceAll(digest, ZERO_DIGEST)).digest('hex')
  if (found !== digest) throw new Error(`${program.file} was changed after it was built`)
  return program.file
}

async function socketDirWords(path: string): Promise<string> {
  let standing = dirname(path)
  while (!existsSync(standing)) standing = dirname(standing)
  await access(standing, constants.W_OK | constants.X_OK)
  return dirname(path)
}
