const HIDDEN = '•••'

/** What follows a word that names a secret, a password in front of an @, a bearer, and what looks like key material. */
const SECRETS: readonly [RegExp, string][] = [
  [/-----BEGIN [A-Z ]+-----[\s\S]*?(-----END [A-Z ]+-----|$)/g, HIDDEN],
  [/(--?(?:[\w-]*-)?(?:password|passphrase|secret|token|api-?key)\s+)\S+/gi, `$1${HIDDEN}`],
  [
    /\b([\w-]*(?:passw(?:or)?d|passphrase|secret|token|api[_-]?key)[\w-]*["']?\s*[=:]\s*)("[^"]*"|'[^']*'|\S+)/gi,
    `$1${HIDDEN}`,
  ],
  [/\b(authorization:\s*\w+\s+|bearer\s+)\S+/gi, `$1${HIDDEN}`],
  [/(\w+:\/\/[^\s:/@]+:)[^\s@]+@/g, `$1${HIDDEN}@`],
  [/(\s(?:-u|--user)\s+[^\s:]+:)\S+/g, `$1${HIDDEN}`],
  [/\b(?:[A-Za-z0-9+/]{40,}={0,2}|[0-9a-f]{32,})\b/g, HIDDEN],
]

/** A line a guest wrote, without what may be a secret in it: it is shown, copied and kept in pictures. */
export const masked = (text: string): string => SECRETS.reduce((said, [what, by]) => said.replace(what, by), text)

/** cloud-init's stages in the order of a boot. */
const STAGES = ['init-local', 'init', 'modules-config', 'modules-final'] as const

export interface StageView {
  stage: string
  /** What that stage does, for people. */
  what: string
  tone: 'good' | 'warn' | 'bad' | 'unknown'
  text: string
}

const WHAT: Record<string, string> = {
  'init-local': 'Finds its data, sets up the network',
  init: 'Users, disks, host keys, files',
  'modules-config': 'Locale, time, package sources',
  'modules-final': 'Packages, scripts, the fleet payload',
}

interface Told {
  cloudInit: string
  modules: readonly { stage: string; result: string }[]
}

/** Each stage by what the guest said of it. It names only modules that did not go well: without an end nothing is called well. */
export function stageViews({ cloudInit, modules }: Told): StageView[] {
  const isOver = ['done', 'degraded', 'error'].includes(cloudInit)
  const named = modules.map(({ stage }) => stage).filter((stage) => stage !== '' && !STAGES.some((s) => s === stage))
  return [...STAGES, ...new Set(named)].map((stage) => {
    const own = modules.filter((module) => module.stage === stage)
    const failed = own.filter(({ result }) => result === 'failed').length
    const warned = own.length - failed
    const said = [failed > 0 && `${failed} failed`, warned > 0 && `${warned} warned`].filter(Boolean).join(', ')
    const what = WHAT[stage] ?? ''
    if (failed > 0) return { stage, what, tone: 'bad', text: said }
    if (warned > 0) return { stage, what, tone: 'warn', text: said }
    return isOver
      ? { stage, what, tone: 'good', text: 'no trouble reported' }
      : { stage, what, tone: 'unknown', text: 'not said yet' }
  })
}
