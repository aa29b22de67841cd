import { z } from 'zod'
import { Fault } from '../../../ipc/faults.ts'
import type { Artefact } from './artefacts.ts'
import { agentInstallLine, type InstallMode, unpackScript } from './install-plan.ts'
import type { HostLook } from './look.ts'
import type { SshConnection } from './ssh/connection.ts'
import { shellWord } from './ssh/exec.ts'
import { runScript, type ScriptOptions } from './ssh/script.ts'
import { upload } from './ssh/upload.ts'

export interface InstallContext {
  connection: SshConnection
  /** Name of the host, for faults. */
  host: string
  look: HostLook
  mode: InstallMode
  sudoPassword: string | undefined
  signal: AbortSignal
}

/** What the agent's own `install` answered. */
const installedSchema = z.object({
  state_dir: z.string().startsWith('/'),
  socket: z.string().startsWith('/'),
  executable: z.string().startsWith('/'),
  started_by: z.string(),
  runs_as: z.string(),
  version: z.string(),
  steer_users: z.array(z.string()).default([]),
  did: z.array(z.string()).default([]),
  warnings: z.array(z.string()).default([]),
})
export type Installed = z.infer<typeof installedSchema>

const SCRIPT_TIMEOUT_MS = 60_000
/** The agent waits 20 s for its own socket; unpacking itself is bounded by the disk. */
const INSTALL_TIMEOUT_MS = 120_000
const UNDO_TIMEOUT_MS = 60_000

/** Pure: as what it is asked to be, whether the host can or not. */
export const wantedMode = (look: HostLook, useSudo: boolean): InstallMode =>
  look.isRoot ? 'root' : useSudo ? 'sudo' : 'user'

/** Pure. Raises ssh/sudo-refused when sudo is asked for and not there. */
export function installMode(look: HostLook, useSudo: boolean, host: string): InstallMode {
  const wanted = wantedMode(look, useSudo)
  if (wanted !== 'sudo' || look.sudo !== 'none') return wanted
  const detail = look.doas ? 'there is no sudo; its doas is not used' : 'there is no sudo'
  const next = 'Install sudo there, or add the host without sudo: its agent then runs as that login.'
  throw new Fault('ssh/sudo-refused', 'permanent', { host, detail, next })
}

/**
 * Sends the agent, checks its digest there and runs its own `install --start`. Raises agent/install-failed, ssh/*; whatever
 * the outcome, the staging folder is gone.
 */
export async function installAgent(
  context: InstallContext,
  artefact: Artefact,
  onProgress: (done: number, total: number) => void,
): Promise<Installed> {
  const staging = await makeStaging(context)
  try {
    await upload(context.connection, {
      host: context.host,
      source: artefact.file,
      target: `${staging}/sent`,
      signal: context.signal,
      onProgress,
    })
    await unpack(context, staging, artefact)
    return await runInstall(context, `${staging}/eitri-agent`)
  } finally {
    await removeStaging(context, staging)
  }
}

/** Takes away what an install put there; VM data only when there was none before. False = it did not run. Never raises. */
export async function undoInstall(context: InstallContext, installed: Installed): Promise<boolean> {
  const { look, mode } = context
  const hadState = mode === 'user' ? look.hadUserState : look.hadRootState
  const purge = hadState ? '' : ' --purge'
  const command = `${shellWord(installed.executable)} uninstall --json${mode === 'user' ? ' --user' : ''}${purge}`
  const options = { ...scriptOptions(context, UNDO_TIMEOUT_MS), signal: AbortSignal.timeout(UNDO_TIMEOUT_MS) }
  return runScript(context.connection, command, options).then(
    () => true,
    () => false,
  )
}

/** Where programs may run: a root agent never needs the login's home. */
async function makeStaging(context: InstallContext): Promise<string> {
  const places = context.mode === 'user' ? '"$HOME"' : '"$HOME" /var/tmp /usr/local/lib'
  const script = `
umask 077
for place in ${places}; do
  [ -d "$place" ] && [ -w "$place" ] || continue
  find "$place" -maxdepth 1 -name '.eitri-install-*' -user "$(id -un)" -mmin +60 -exec rm -rf {} + 2>/dev/null
  dir=$(mktemp -d "$place/.eitri-install-XXXXXXXX" 2>/dev/null) || continue
  printf '#!/bin/sh\\nexit 0\\n' >"$dir/probe" && chmod 700 "$dir/probe"
  if "$dir/probe" 2>/dev/null; then rm "$dir/probe"; printf 'staging=%s\\n' "$dir"; exit 0; fi
  rm -rf "$dir"
done
exit 1`
  const { output, code } = await runScript(context.connection, script, loginOptions(context))
  const dir = /^staging=(\/.*)$/m.exec(output)?.[1]
  if (code === 0 && dir) return dir
  const detail = 'no folder where this login may write and run programs'
  throw new Fault('host/unsupported', 'permanent', { host: context.host, detail, next: 'Add it with another login.' })
}

async function unpack(context: InstallContext, staging: string, artefact: Artefact): Promise<void> {
  const script = unpackScript(staging, artefact)
  const { code, output, stderr } = await runScript(context.connection, script, loginOptions(context))
  const digest = /^sha256=([0-9a-f]{64})$/m.exec(output)?.[1]
  if (code !== 0) throw failed(context.host, `unpacking: ${lastLine(stderr)}`)
  if (digest !== artefact.sha256) throw failed(context.host, 'the file arrived with another SHA-256')
}

async function runInstall(context: InstallContext, executable: string): Promise<Installed> {
  const { host } = context
  // Not interrupted by the task: half an install cannot be told from a whole one afterwards.
  const options = { ...scriptOptions(context, INSTALL_TIMEOUT_MS), signal: AbortSignal.timeout(INSTALL_TIMEOUT_MS) }
  const command = agentInstallLine(executable, context)
  const { code, output, stderr } = await runScript(context.connection, command, options)
  const answer = lastJson(output)
  if (code !== 0) throw failed(host, errorWords(answer) || lastLine(stderr) || `it ended with ${code}`)
  const parsed = installedSchema.safeParse(answer)
  if (!parsed.success) throw failed(host, 'its installer answered nothing that can be understood')
  return parsed.data
}

async function removeStaging(context: InstallContext, staging: string): Promise<void> {
  const options = { ...loginOptions(context), signal: AbortSignal.timeout(UNDO_TIMEOUT_MS) }
  await runScript(context.connection, `rm -rf ${shellWord(staging)}`, options).catch(() => {})
}

const loginOptions = ({ host, signal }: InstallContext): ScriptOptions => ({
  host,
  signal,
  timeoutMs: SCRIPT_TIMEOUT_MS,
})

const scriptOptions = (context: InstallContext, timeoutMs: number): ScriptOptions => ({
  host: context.host,
  signal: context.signal,
  timeoutMs,
  ...(context.mode === 'sudo' ? { sudo: { password: context.sudoPassword } } : {}),
})

const failed = (host: string, detail: string) =>
  new Fault('agent/install-failed', 'permanent', { host, detail: detail.slice(0, 300) })

const lastLine = (text: string): string => text.trim().split('\n').at(-1) ?? ''

function lastJson(output: string): unknown {
  try {
    return JSON.parse(lastLine(output))
  } catch {
    return undefined
  }
}

function errorWords(answer: unknown): string {
  const error = (answer as { error?: { message?: unknown } } | undefined)?.error
  return typeof error?.message === 'string' ? error.message : ''
}
