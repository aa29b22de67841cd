import { access } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { Fault } from '../../../ipc/faults.ts'
import type { StepContext } from '../tasks/task-context.ts'
import type { OnboardingDeps, SshWay } from './enrol.ts'
import type { SshTarget } from './ssh/config.ts'
import { listConfigHosts } from './ssh/config-hosts.ts'
import { readTarget } from './ssh/config-reader.ts'
import { parseDestination } from './ssh/destination.ts'

/** What was typed, and what the SSH configuration makes of it. Raises input/invalid, ssh/config-invalid, ssh/unsupported. */
export async function readWay(
  { paths, env, run }: Pick<OnboardingDeps, 'paths' | 'env' | 'run'>,
  way: SshWay,
  signal: AbortSignal,
  step: Pick<StepContext, 'detail'>,
): Promise<SshTarget> {
  const typed = parseDestination(way.host)
  const destination = {
    ...typed,
    ...(way.user ? { user: way.user } : {}),
    ...(way.port === undefined ? {} : { port: way.port }),
  }
  const { matchExec } = await listConfigHosts(paths.sshDir)
  if (matchExec) step.detail('your ssh configuration runs commands of its own (Match exec)')
  const target = await readTarget(destination, { sshDir: paths.sshDir, env }, signal, run)
  const said = `${target.user}@${target.address}:${target.port}`
  step.detail(matchExec ? `${said}; your ssh configuration ran commands of its own (Match exec)` : said)
  if (!way.identityFile) return target
  const file = identityPath(way.identityFile)
  await access(file).catch((error: unknown) => {
    const detail = (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'there is no such file' : 'it cannot be read'
    throw new Fault('ssh/key-unreadable', 'permanent', { file, detail }, { cause: error })
  })
  return { ...target, identityFiles: [file], identitiesOnly: true }
}

const identityPath = (written: string): string =>
  written.startsWith('~/') ? join(homedir(), written.slice(2)) : resolve(written)
