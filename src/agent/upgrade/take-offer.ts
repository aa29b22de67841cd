import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { lstat, readlink, realpath } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { AgentUpgrade } from '../../ipc/gen/eitri/agent/v1/sync_pb.js'
import { isSha256 } from '../../ipc/names.ts'
import { readInstall } from '../install/install-record.ts'
import { type RunningProgram, wrapperScript } from '../install/self.ts'
import { requireRoom } from '../os/disk-space.ts'
import type { Run } from '../os/exec.ts'
import { copyDurable, ensureDir, regularFile, removeTree, writeDurable } from '../os/files.ts'
import type { AgentLayout } from '../records/layout.ts'
import { SelfCheck, unreadableFiles } from './selfcheck.ts'
import type { UpgradeProgram, UpgradeWay } from './upgrade-note.ts'

/** A cold executable on a slow disk, and a thousand records, are in it. */
const SELFCHECK_MS = 30_000

/** Why an offer is not taken, one sentence for people; nothing was changed. */
export class Refused extends Error {
  override readonly name = 'Refused'
}

/** The running agent, as far as an upgrade is concerned. */
export interface RunningAgentProgram {
  program: RunningProgram
  version: string
  digest: string
  /** What it was started with, the program left out: `serve …`. */
  args: readonly string[]
}

export interface OfferDeps {
  layout: AgentLayout
  socketPath: string
  self: RunningAgentProgram
  run: Run
}

/** Where this agent is installed and how it is started again. Raises Refused when it is not. */
export async function installedWay({
  layout,
  self,
}: Pick<OfferDeps, 'layout' | 'self'>): Promise<Omit<UpgradeWay, 'to'>> {
  const { kind, file } = self.program
  if (kind === 'source') throw new Refused('it runs from its sources: they are upgraded there')
  const installed = await readInstall(layout.stateDir)
  if (!installed) throw new Refused('it was not installed on this host: whoever starts it upgrades it')
  const link = installed.executable
  const found = await lstat(link).catch(() => undefined)
  if (!found?.isSymbolicLink()) throw new Refused(`${link} is not the link that its installer made`)
  const target = await readlink(link)
  const own = await realpath(dirname(file)).catch(() => dirname(file))
  const linked = await realpath(dirname(target)).catch(() => '')
  if (own !== linked) throw new Refused(`it runs from ${dirname(file)}, the installed one is ${target}`)
  const { version, digest } = self
  return { link, from: { target, version, digest }, started_by: installed.started_by, args: [...self.args] }
}

/**
 * Puts an offered agent beside the running one and lets it look at itself. Raises Refused with what was put there taken
 * away again; an abort raises its reason.
 */
export async function prepareOffer(
  deps: OfferDeps,
  offer: AgentUpgrade,
  way: Omit<UpgradeWay, 'to'>,
  signal: AbortSignal,
): Promise<UpgradeProgram> {
  const dir = chooseDir(offer, way)
  const target = join(dir, 'eitri-agent')
  try {
    await putInPlace(deps, offer, dir)
    signal.throwIfAborted()
    const digest = await lookAtItself(deps, offer, target, signal)
    if (digest === way.from.digest && digest !== '') throw new Refused('it is the agent that runs here already')
    return { target, version: offer.version, digest }
  } catch (error) {
    await removeTree('upgrade.discard', dir).catch(() => {})
    throw error
  }
}

/** A folder of its own below the library, never the one that runs. */
function chooseDir({ version, sha256 }: AgentUpgrade, { from }: Pick<UpgradeWay, 'from'>): string {
  if (!/^[0-9A-Za-z][0-9A-Za-z.+-]{0,63}$/.test(version)) throw new Refused('its version is no version')
  if (!isSha256(sha256)) throw new Refused('it comes without a SHA-256')
  const current = dirname(from.target)
  const names = [version, `${version}-${sha256.slice(0, 8)}`]
  const name = names.find((one) => join(dirname(current), one) !== current)
  return join(dirname(current), name!)
}

/** Copied first and then digested: what is checked is what will run. */
async function putInPlace({ self }: OfferDeps, { stagedPath, sha256 }: AgentUpgrade, dir: string): Promise<void> {
  const staged = stagedPath.startsWith('/') ? await regularFile(stagedPath).catch(() => undefined) : undefined
  if (!staged) throw new Refused(`there is no such file on this host: ${stagedPath.slice(0, 200)}`)
  await removeTree('upgrade.clear', dir)
  await ensureDir('upgrade.dir', dir, 0o755)
  await requireRoom(dir, staged.size)
  const bundle = self.program.kind === 'bundle'
  const file = join(dir, bundle ? 'agent.cjs' : 'eitri-agent')
  await copyDurable('upgrade.copy', stagedPath, file, 0o755)
  const found = await digestOfFile(file)
  if (found !== sha256)
    throw new Refused(
      `its SHA-256 is ${found.slice(0, 12)}…, offered was ${sha256.slice(0, 12)}… (${staged.size} bytes)`,
    )
  if (bundle)
    await writeDurable('upgrade.wrapper', join(dir, 'eitri-agent'), wrapperScript(self.program.node, file), 0o755)
}

/** Its build digest. */
async function lookAtItself(
  { layout, socketPath, run }: OfferDeps,
  { version }: AgentUpgrade,
  target: string,
  signal: AbortSignal,
): Promise<string> {
  const args = ['selfcheck', '--json', '--state-dir', layout.stateDir, '--socket', socketPath]
  const ran = await run('upgrade.selfcheck', target, args, { signal, timeoutMs: SELFCHECK_MS }).catch(
    (error: Error) => {
      signal.throwIfAborted()
      throw new Refused(`it cannot be run here: ${error.message}`)
    },
  )
  if (ran.timedOut) throw new Refused(`it did not look at itself within ${SELFCHECK_MS / 1000} s`)
  const check = parsed(ran.stdout)
  const failed = check?.checks.filter(({ state }) => state === 'failed') ?? []
  if (failed.length > 0) throw new Refused(failed.map(({ name, detail }) => `${name}: ${detail}`).join('; '))
  if (ran.code !== 0 || !check?.ok)
    throw new Refused(`its look at itself ended with ${ran.code}${lastWord(ran.stderr)}`)
  if (check.version !== version) throw new Refused(`it says it is ${check.version}, offered was ${version}`)
  const here = (await unreadableFiles(layout)).length
  if (check.unreadable > here)
    throw new Refused(`it cannot read ${check.unreadable - here} files of this host that this agent can read`)
  return check.build_digest
}

function parsed(text: string): SelfCheck | undefined {
  try {
    return SelfCheck.parse(JSON.parse(text))
  } catch {
    return undefined
  }
}

const lastWord = (stderr: string): string => {
  const line = stderr.trim().split('\n').at(-1)
  return line ? `: ${line}` : ''
}

/** Lower-case hex. */
async function digestOfFile(path: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(path), hash)
  return hash.digest('hex')
}
