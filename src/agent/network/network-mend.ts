import { z } from 'zod'
import { type Log, silentLog } from '../../ipc/base/log.ts'
import { asFault, Fault, findFault } from '../../ipc/faults.ts'
import type { Run, RunOptions } from '../os/exec.ts'
import { type readIfPresent, removeTree, type writeDurable } from '../os/files.ts'
import { MEND_COMMENT } from './filter-findings.ts'
import type { Judged, MendRule, NetworkLook } from './network-look.ts'
import type { Chain, Rule, Ruleset } from './nft-ruleset.ts'

const CHANGE_MS = 10_000
const MAX_MENDS = 20

const Kept = z.object({
  version: z.literal(1),
  mends: z
    .array(z.object({ id: z.string().max(100), settings: z.array(z.string().max(15)).max(MAX_MENDS) }))
    .max(MAX_MENDS),
})

/** A mend in force, or that is to be again; `settings` = interfaces whose forwarding it turned on. */
export interface Mend {
  id: string
  settings: string[]
}

export interface MendFiles {
  readIfPresent: typeof readIfPresent
  writeDurable: typeof writeDurable
}

/** What a person had mended, durable. An unreadable file is none, and says so in the log. */
export async function loadMends(files: Pick<MendFiles, 'readIfPresent'>, path: string, log: Log): Promise<Mend[]> {
  try {
    const bytes = await files.readIfPresent(path)
    return bytes === undefined ? [] : Kept.parse(JSON.parse(bytes.toString('utf8'))).mends
  } catch (error) {
    log.warn('network.mends-unreadable', { path, error: String(error).slice(0, 300) })
    return []
  }
}

/** All of them, in place of what was kept; durable when it resolves. */
export async function saveMends(
  files: Pick<MendFiles, 'writeDurable'>,
  path: string,
  mends: Iterable<Mend>,
): Promise<void> {
  await files.writeDurable('mend.save', path, `${JSON.stringify({ version: 1, mends: [...mends] })}\n`)
}

const commentOf = (id: string): string => `${MEND_COMMENT} ${id}`

/** Changes the host as one finding needs: its rules anew in one step, its settings. Idempotent; raises `network/mend-failed`. */
export async function applyMend(run: Run, look: NetworkLook, judged: Judged, signal?: AbortSignal): Promise<void> {
  const change = changing(run, judged.id, signal)
  if ('ruleset' in look.filters) await change.rules(look.filters.ruleset, judged.rules)
  for (const device of judged.settings) await change.forwarding(device, true)
}

/** Takes away all rules of a mend, and turns off what it had turned on. Idempotent; raises `network/mend-failed`. */
export async function removeMend(run: Run, look: NetworkLook, mend: Mend, signal?: AbortSignal): Promise<void> {
  const change = changing(run, mend.id, signal)
  if (!('ruleset' in look.filters)) throw failed(mend.id, `the rules could not be read: ${look.filters.problem}`)
  await change.rules(look.filters.ruleset, [])
  for (const device of mend.settings) if (look.forwarding.get(device)) await change.forwarding(device, false)
}

function changing(run: Run, id: string, signal: AbortSignal | undefined) {
  const options: RunOptions = { timeoutMs: CHANGE_MS, ...(signal === undefined ? {} : { signal }) }
  return {
    async rules(ruleset: Ruleset, rules: readonly MendRule[]) {
      const commands = nftCommands(ruleset, id, rules)
      if (commands !== '') await check(id, 'nft', run('mend.rules', 'nft', [commands], options))
      for (const argv of iptablesArgvs(ruleset, id, rules))
        await check(id, 'iptables-legacy', run('mend.older-rules', 'iptables-legacy', argv, options))
    },
    async forwarding(device: string, on: boolean) {
      const setting = `net/ipv4/conf/${device}/forwarding=${on ? 1 : 0}`
      await check(id, 'sysctl', run('mend.forwarding', 'sysctl', ['-w', setting], options))
    },
  }
}

/** One transaction: what an earlier mend of this finding left goes, its rules come to the heads of their chains. */
export function nftCommands(ruleset: Ruleset, id: string, rules: readonly MendRule[]): string {
  const place = ({ family, table, name }: Chain) => `${family} ${table} ${name}`
  const old = ownRules(ruleset, id).filter(({ chain }) => chain.family !== 'iptables')
  const gone = old.map(({ chain, rule }) => `delete rule ${place(chain)} handle ${rule.handle}`)
  const fresh = rules
    .filter(({ family }) => family !== 'iptables')
    .map(({ family, table, chain, bridge, way }) => {
      const from = way === 'to' ? '' : `iifname "${bridge}" `
      const to = way === 'from' ? '' : `oifname "${bridge}" `
      return `insert rule ${family} ${table} ${chain} ${from}${to}counter accept comment "${commentOf(id)}"`
    })
  return [...gone, ...fresh].join('; ')
}

/** The same for the older iptables, one command each. */
export function iptablesArgvs(ruleset: Ruleset, id: string, rules: readonly MendRule[]): string[][] {
  const gone = ownRules(ruleset, id)
    .filter(({ chain }) => chain.family === 'iptables')
    .map(({ rule }) => ['-D', ...wordsOf(rule.text).slice(1)])
  const fresh = rules
    .filter(({ family }) => family === 'iptables')
    .map(({ chain, bridge, way }) => [
      ...['-I', chain],
      ...(way === 'to' ? [] : ['-i', bridge]),
      ...(way === 'from' ? [] : ['-o', bridge]),
      ...['-m', 'comment', '--comment', commentOf(id), '-j', 'ACCEPT'],
    ])
  return [...gone, ...fresh]
}

const wordsOf = (text: string): string[] =>
  [...text.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? '')

const ownRules = ({ chains }: Ruleset, id: string): { chain: Chain; rule: Rule }[] =>
  chains.flatMap((chain) =>
    chain.rules.filter(({ comment }) => comment === commentOf(id)).map((rule) => ({ chain, rule })),
  )

async function check(id: string, program: string, result: ReturnType<Run>): Promise<void> {
  try {
    const { code, stderr, timedOut } = await result
    if (code === 0) return
    throw failed(id, `${program}: ${timedOut ? 'it did not end' : stderr.trim().slice(0, 300) || `ended with ${code}`}`)
  } catch (error) {
    if (findFault(error)) throw error
    throw failed(id, `${program}: ${error instanceof Error ? error.message : String(error)}`, error)
  }
}

const failed = (finding: string, detail: string, cause?: unknown): Fault =>
  new Fault('network/mend-failed', 'transient', { finding, detail }, { cause })

/** Forgets that there ever were mends; idempotent. */
export const forgetMends = (path: string): Promise<void> => removeTree('mend.forget', path)

/** Takes back every mend of an agent that is gone; gives the findings whose mends went, and what stayed with why. Never raises. */
export async function removeAllMends(
  run: Run,
  files: Pick<MendFiles, 'readIfPresent'>,
  path: string,
  look: () => Promise<NetworkLook>,
): Promise<{ removed: string[]; left: string[] }> {
  const mends = await loadMends(files, path, silentLog)
  const removed: string[] = []
  const left: string[] = []
  for (const mend of mends)
    await look()
      .then((seen) => removeMend(run, seen, mend))
      .then(
        () => removed.push(`the mend of ${mend.id}`),
        (error: unknown) => left.push(`the mend of ${mend.id}: ${asFault(error).params['detail'] ?? 'unknown'}`),
      )
  if (mends.length > 0 && left.length === 0) await forgetMends(path).catch(() => {})
  return { removed, left }
}
