import { z } from 'zod'

/** Modules named of one guest, characters of a name and of what one said. */
const MODULE_LIMIT = 32
const NAME_LIMIT = 64
const DETAIL_LIMIT = 300

export type CloudInitState = 'running' | 'done' | 'degraded' | 'error' | 'disabled' | 'absent' | ''

/** One part of cloud-init that did not go well. */
export interface ModuleTrouble {
  name: string
  stage: string
  result: 'failed' | 'warned'
  detail: string
}

export interface CloudInitVerdict {
  state: CloudInitState
  modules: ModuleTrouble[]
}

/** Where cloud-init leaves word; the last is there wherever it is installed. */
export const CLOUD_INIT_FILES = {
  status: '/run/cloud-init/status.json',
  result: '/run/cloud-init/result.json',
  disabled: '/run/cloud-init/disabled',
  program: '/usr/bin/cloud-init',
} as const

const STAGES = ['init-local', 'init', 'modules-config', 'modules-final'] as const
const FAILED = 'it failed'
const Stage = z.looseObject({
  errors: z.array(z.string()).catch([]).default([]),
  recoverable_errors: z.record(z.string(), z.array(z.string())).catch({}).default({}),
})
const Status = z.looseObject({ v1: z.record(z.string(), z.unknown()) })
const Result = z.looseObject({ v1: z.looseObject({ errors: z.array(z.string()).catch([]).default([]) }) })

/** The contents of files by name, as `head -v` prints several; one that is not there is missing. */
export function filesIn(text: string, names: readonly string[]): ReadonlyMap<string, string> {
  const heads = names
    .map((name) => ({ name, head: `==> ${name} <==\n` }))
    .map(({ name, head }) => ({ name, at: text.startsWith(head) ? 0 : text.indexOf(`\n${head}`) + 1, head }))
    .filter(({ at, head }) => text.startsWith(head, at))
    .sort((a, b) => a.at - b.at)
  return new Map(
    heads.map(({ name, at, head }, i) => {
      const next = heads[i + 1]
      return [name, text.slice(at + head.length, next ? next.at - 1 : undefined)]
    }),
  )
}

/**
 * What cloud-init says of itself: `files` as filesIn gives them, `log` the end of its log, '' = not read. Nothing of
 * what it was given is repeated: of its errors only names, kinds and phrases that are its own.
 */
export function cloudInitVerdict(files: ReadonlyMap<string, string>, log = ''): CloudInitVerdict {
  const { status, result, disabled, program } = CLOUD_INIT_FILES
  if (files.has(disabled)) return { state: 'disabled', modules: [] }
  const v1 = Status.safeParse(jsonOf(files.get(status))).data?.v1
  const ended = Result.safeParse(jsonOf(files.get(result))).data?.v1
  if (!v1 && !ended) return { state: files.has(program) || files.has(status) ? '' : 'absent', modules: [] }
  const stages = STAGES.map((stage) => ({
    stage,
    ...Stage.catch({ errors: [], recoverable_errors: {} }).parse(v1?.[stage]),
  }))
  const failed = stages.flatMap(({ stage, errors }) => errors.map((error) => troubleOf(error, stage, 'failed')))
  const warned = stages.flatMap(({ stage, recoverable_errors: kinds }) =>
    Object.values(kinds).flatMap((errors) => errors.map((error) => troubleOf(error, stage, 'warned'))),
  )
  const seen = v1 ? failed : (ended?.errors ?? []).map((error) => troubleOf(error, '', 'failed'))
  const modules = merged([...seen, ...warned, ...(ended ? logTroubles(log) : [])])
  if (!ended) return { state: 'running', modules }
  if (modules.some(({ result: how }) => how === 'failed')) return { state: 'error', modules }
  // Releases that count warnings themselves say so in their status; before, only a part that failed is one.
  const counts = warned.length > 0 || modules.some(({ detail }) => detail === FAILED)
  return { state: counts ? 'degraded' : 'done', modules }
}

/** Whether user-data told cloud-init to leave the fleet's part out. */
export const refusedVendorData = (log: string): boolean => /vendor_?data2? consumption is disabled/i.test(thisBoot(log))

/** Warnings of this boot: which part, and what of it is a phrase of cloud-init's own. */
function logTroubles(log: string): ModuleTrouble[] {
  return [...thisBoot(log).matchAll(/ - (\w+)(?:\.py)?\[(?:WARNING|ERROR|CRITICAL)\]: (.*)/g)].map(
    ([, file = '', said = '']) => troubleOf(said, '', 'warned', file.replace(/^cc_/, '')),
  )
}

const thisBoot = (log: string): string => log.slice(Math.max(0, log.lastIndexOf("running 'init-local'")))

function troubleOf(error: string, stage: string, result: ModuleTrouble['result'], file = 'cloud-init'): ModuleTrouble {
  const [, tuple, kind = ''] = /^\('([\w-]+)', (\w+)\(/.exec(error) ?? []
  const ran = /^Running module ([\w-]+) \(/.exec(error)?.[1]
  const invalid = /^Invalid (?:cloud-config|user data)/i.exec(error)?.[0]
  const scripts = /Runparts: \d+ failures \([\w., -]*\) in \d+ attempted commands/.exec(error)?.[0]
  const detail = [kind, scripts ?? (ran ? FAILED : (invalid ?? ''))].filter(Boolean).join(': ')
  return { name: (tuple ?? ran ?? file).slice(0, NAME_LIMIT), stage, result, detail: detail.slice(0, DETAIL_LIMIT) }
}

/** One entry a module: the first, which has its stage; names are told as cloud-init writes them in its configuration. */
function merged(troubles: readonly ModuleTrouble[]): ModuleTrouble[] {
  const byName = new Map<string, ModuleTrouble>()
  for (const trouble of troubles) {
    const key = trouble.name.replaceAll('-', '_')
    if (!byName.has(key) && byName.size < MODULE_LIMIT) byName.set(key, { ...trouble, name: key })
  }
  return [...byName.values()]
}

function jsonOf(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? '')
  } catch {
    return undefined
  }
}
