import { randomBytes } from 'node:crypto'
import { printable } from '../../../../ipc/fault-text.ts'
import { Fault, type FaultCode } from '../../../../ipc/faults.ts'
import type { SshConnection } from './connection.ts'
import { collect } from './exec.ts'
import { openCommand } from './open-command.ts'
import { RPC_MAGIC } from './stdio-carrier.ts'
import { bySudo, type SudoAs, SudoTalk } from './sudo-talk.ts'

export interface ScriptOptions {
  /** Name of the host, for faults. */
  host: string
  signal: AbortSignal
  timeoutMs: number
  /** Run as root. */
  sudo?: SudoAs
  /** Called with what the script said so far, whenever that grows. */
  onOutput?(text: string): void
}

export interface ScriptResult {
  code: number
  /** What the script itself said: nothing of the login shell's own. */
  output: string
  stderr: string
}

/** `forced` of an ssh/no-shell whose fixed command is the agent's own program. */
export const FORCED_AGENT = 'eitri-agent'

/**
 * Runs a POSIX sh script on the host, whatever the login shell prints or is: the script comes by stdin, its output is
 * framed by unique marks; by sudo, on a terminal where sudo wants one. Raises ssh/sudo-refused (with `retry` when another
 * password may do, and `whose`), ssh/no-shell (`forced` = FORCED_AGENT) and the connection's faults.
 */
export async function runScript(
  connection: Pick<SshConnection, 'exec'>,
  script: string,
  options: ScriptOptions,
): Promise<ScriptResult> {
  const first = await attempt(connection, script, options, false)
  if (first.ran) return first.result
  if (!options.sudo || !SudoTalk.wantsTerminal(first.said)) throw first.fault
  const second = await attempt(connection, script, options, true).catch((error: unknown) => {
    if (!(error instanceof Fault) || error.code !== 'ssh/no-shell') throw error
    const { host } = options
    const detail = 'it wants a terminal (requiretty) and the server gives none (PermitTTY no)'
    const next = 'Take requiretty out of its sudoers file, or add the host without sudo.'
    throw new Fault('ssh/sudo-refused', 'permanent', { host, detail, next }, { cause: error })
  })
  if (second.ran) return second.result
  throw second.fault
}

type Attempt = { ran: true; result: ScriptResult } | { ran: false; fault: Fault; said: string }

async function attempt(
  connection: Pick<SshConnection, 'exec'>,
  script: string,
  { host, signal, timeoutMs, sudo, onOutput }: ScriptOptions,
  pty: boolean,
): Promise<Attempt> {
  const mark = `eitri-${randomBytes(8).toString('hex')}`
  const raw = pty ? 'stty raw -echo; PS1= PS2= ENV=; export PS1 PS2 ENV; ' : ''
  const shell = `/bin/sh -c '${raw}echo; echo ${mark}-start; exec /bin/sh'`
  const channel = await openCommand(connection, sudo ? bySudo(mark, shell) : shell, signal, { pty })
  const talk = sudo ? new SudoTalk(mark, sudo, channel) : undefined
  const said = { stdout: '', stderr: '' }
  let started = false
  const collected = collect(channel, { host, signal, timeoutMs }, (texts) => {
    Object.assign(said, texts)
    if (!started) talk?.heard(pty ? texts.stdout : texts.stderr)
    if (!started && texts.stdout.includes(`${mark}-start`)) {
      started = true
      talk?.stop()
      channel.end(wrapped(script, mark, pty))
    }
    if (!started && texts.stdout.includes(RPC_MAGIC)) channel.close()
    if (started) onOutput?.(framed(texts.stdout, mark).output)
  })
  const { code } = await collected.catch((error: unknown) => {
    talk?.stop()
    if (started || !(error instanceof Fault) || !NOT_STARTED.includes(error.code)) throw error
    if (said.stdout.includes(RPC_MAGIC)) return { code: 255 }
    throw noShell(host, said, mark, `it did not run a command: ${error.params['detail'] ?? 'it hung up'}`, error)
  })
  if (started) {
    const end = framed(said.stdout, mark)
    const stderr = pty ? (end.rest ?? '') : said.stderr
    return { ran: true, result: { code: end.code ?? (code || 255), output: end.output, stderr } }
  }
  const all = pty ? said.stdout : said.stderr
  return { ran: false, said: all, fault: talk?.fault(host, all) ?? noShell(host, said, mark) }
}

/** What a command's end means before it began. */
const NOT_STARTED: readonly FaultCode[] = ['ssh/protocol', 'ssh/lost']

/** On a terminal both streams are one: what the script says aside is kept and told behind the end mark. */
function wrapped(script: string, mark: string, pty: boolean): string {
  const body = `eitri_script() {\n${script}\n}\n`
  if (!pty) return `${body}( eitri_script ) </dev/null\nset -- $?; echo; echo "${mark}-end $1"\n`
  return `${body}e=$(mktemp) || e=/dev/null
( eitri_script ) </dev/null 2>"$e"
set -- $?; echo; echo "${mark}-end $1"; cat "$e"; [ "$e" = /dev/null ] || rm -f "$e"; exit\n`
}

/** The part between the marks, and what came behind; no code = the end mark has not come. */
export function framed(text: string, mark: string): { output: string; code?: number; rest?: string } {
  const start = new RegExp(`${mark}-start\\r?\\n`).exec(text)
  const body = start ? text.slice(start.index + start[0].length) : ''
  const end = new RegExp(`\\n${mark}-end (\\d+)\\n`).exec(body)
  if (!end) return { output: body }
  return { output: body.slice(0, end.index), code: Number(end[1]), rest: body.slice(end.index + end[0].length) }
}

function noShell(
  host: string,
  said: { stdout: string; stderr: string },
  mark: string,
  why = '',
  cause?: unknown,
): Fault {
  const forced = said.stdout.includes(RPC_MAGIC)
  const words = [said.stderr, said.stdout].map((text) => lastLine(text.replaceAll(mark, ''))).find(Boolean) ?? ''
  const detail = forced ? 'it runs the agent alone' : [why, words && `it said "${words}"`].filter(Boolean).join('; ')
  const params = { host, ...(detail ? { detail } : {}), ...(forced ? { forced: FORCED_AGENT } : {}) }
  return new Fault('ssh/no-shell', 'permanent', params, { cause })
}

const lastLine = (text: string): string => printable(text.trim().split('\n').at(-1) ?? '').slice(0, 200)
