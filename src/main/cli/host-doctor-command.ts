import type { Command } from 'commander'
import { printable } from '../../ipc/fault-text.ts'
import type { CommandContext, Runner } from './context.ts'
import { hostNamed } from './host-answer.ts'
import { doctorExit, type Finding, judgeHost } from './host-doctor.ts'
import { reference } from './options.ts'

/** `host doctor`: every part of a host as the control plane knows it, and what mends it. */
export function doctorCommand(host: Command, run: Runner): void {
  run(
    host.command('doctor <name>').description('name what is wrong with a host, what that breaks and what mends it'),
    examine,
  )
}

async function examine(context: CommandContext, name: string): Promise<void> {
  context.deadline()
  const host = await hostNamed(await context.fleet(), reference('host', name), context.signal)
  const findings = judgeHost(host, context.parts.now())
  const of = (state: Finding['state']) => findings.filter((one) => one.state === state).map(({ part }) => part)
  context.exitWith(doctorExit(findings))
  if (!context.json) return context.say(`${textOf(findings)}\n`)
  const ok = of('missing').length + of('warning').length === 0
  await context.document({ host: host.name, ok, missing: of('missing'), warnings: of('warning'), checks: findings })
}

const WORDS: Record<Finding['state'], string> = { ok: 'ok', warning: 'warning', missing: 'MISSING' }

function textOf(findings: readonly Finding[]): string {
  const width = Math.max(...findings.map(({ part }) => part.length))
  const indent = ' '.repeat(width + 10)
  return findings
    .flatMap(({ part, state, detail, breaks, mend }) => [
      `${WORDS[state].padEnd(7)}  ${part.padEnd(width)} ${printable(detail)}`,
      ...(breaks === '' ? [] : [`${indent}${printable(breaks)}`]),
      ...(mend === '' ? [] : [`${indent}mend: ${printable(mend)}`]),
    ])
    .join('\n')
}
