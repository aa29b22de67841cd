import { printable } from '../../ipc/fault-text.ts'
import type { ShownCommand } from './show-command.ts'

const COLUMN = 30
const MARKS = { both: ' ', running: '-', next: '+' } as const

/** One argument a line, each option with what it is for; `-` only in what runs, `+` only in the next start. */
export function showText(shown: ShownCommand): string {
  const { parts, runsKnown } = shown
  const marked = runsKnown && shown.nextUnknown === ''
  const lines = parts.flatMap(({ args, why, where }) =>
    args.map((arg, i) => {
      const text = `${marked ? MARKS[where] : ' '} ${exact(arg)}`
      return i === 0 && why !== '' ? `${text.padEnd(COLUMN)}  # ${why}` : text
    }),
  )
  return [head(shown), `in ${printable(shown.cwd)}`, '', ...lines].join('\n')
}

function head({ name, vmId, backend, pid, runsKnown, parts, nextUnknown }: ShownCommand): string {
  const who = `${name} (${vmId}), ${backend}`
  if (pid === undefined) return `${who}: does not run; this is what its next start would use`
  if (!runsKnown)
    return `${who}: runs as process ${pid}, whose arguments cannot be read here; this is what its next start would use`
  if (nextUnknown !== '')
    return `${who}: runs as process ${pid}; what its next start would use is not known. ${nextUnknown}`
  const differs = parts.some(({ where }) => where !== 'both')
  return differs
    ? `${who}: runs as process ${pid}; lines with - run now and are not in its next start, lines with + are only there`
    : `${who}: runs as process ${pid}; its next start would use the same`
}

/** As it is, but for what could move a terminal's cursor. */
const exact = (arg: string): string =>
  /^[^\0-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]+$/.test(arg) ? arg : JSON.stringify(arg)

/** `--json`: `args` is what runs, or the next start of a VM that does not; `parts` is both. */
export function showJson(shown: ShownCommand): Record<string, unknown> {
  const { vmId, name, backend, cwd, pid, runsKnown, parts, nextUnknown } = shown
  const now = !runsKnown ? parts : parts.filter(({ where }) => where !== 'next')
  return {
    vm_id: vmId,
    name,
    backend,
    running: pid !== undefined,
    ...(pid === undefined ? {} : { pid }),
    cwd,
    args: now.flatMap(({ args }) => args),
    parts: parts.map(({ args, why, where }) => ({ args, why, in: where })),
    differs: runsKnown && nextUnknown === '' && parts.some(({ where }) => where !== 'both'),
    ...(nextUnknown === '' ? {} : { next_unknown: nextUnknown }),
  }
}
