import { MiB } from '../../../ipc/units.ts'
import type { StepFact } from '../tasks/task-context.ts'
import type { Artefact } from './artefacts.ts'
import type { HostLook } from './look.ts'
import { shellWord } from './ssh/exec.ts'

/** As whom the agent is installed: by a root login, by sudo, or for this login alone. */
export type InstallMode = 'root' | 'sudo' | 'user'

const UNIT = 'eitri-agent.service'

export interface InstallPlan {
  look: HostLook
  mode: InstallMode
  artefact: Artefact
  version: string
}

/** Pure: what an install puts where, known before anything is sent. */
export function installFacts({ look, mode, artefact, version }: InstallPlan): StepFact[] {
  const user = mode === 'user'
  const home = look.home || '~'
  const mb = (bytes: number) => `${(bytes / MiB).toFixed(0)} MB`
  const sent = artefact.compressed ? `${mb(artefact.sizeBytes)} sent, ` : ''
  return [
    { name: 'Agent', value: version },
    { name: 'Size', value: `${sent}${mb(artefact.unpackedBytes)} on its disk` },
    { name: 'Path', value: user ? `${home}/.local/lib/eitri/${version}` : `/usr/local/lib/eitri/${version}` },
    { name: 'State', value: user ? `${home}/.local/state/eitri` : '/var/lib/eitri' },
    { name: 'Service', value: serviceOf(look, user) },
    { name: 'Runs as', value: user ? look.user : 'root' },
    { name: 'Checksum', value: `SHA-256 ${artefact.sha256}` },
    { name: 'Undo', value: `Remove host… takes it away again; by hand: ${uninstallLine(mode)}` },
  ]
}

function serviceOf({ init }: HostLook, user: boolean): string {
  if (init === 'systemd') return user ? `${UNIT} of the login (systemd --user)` : UNIT
  if (init === 'openrc' && !user) return 'eitri-agent (OpenRC)'
  return 'a cron line where there is cron, else started by this app'
}

const uninstallLine = (mode: InstallMode) =>
  mode === 'user' ? '~/.local/bin/eitri-agent uninstall --user' : 'sudo eitri-agent uninstall'

/** Pure: the agent's own install, as it is run on the host. */
export function agentInstallLine(executable: string, { mode, look }: Pick<InstallPlan, 'mode' | 'look'>): string {
  const flags = mode === 'user' ? ' --user' : mode === 'sudo' ? ` --steer-user ${shellWord(look.user)}` : ''
  return `${shellWord(executable)} install --json --start${flags}`
}

/** Pure: checks and lays out what was sent to the staging folder; says the digest it found. */
export function unpackScript(staging: string, artefact: Pick<Artefact, 'kind' | 'compressed'>): string {
  // Run by the host's own Node.js, a bundle installs itself as such.
  const wrapper = `printf '#!/bin/sh\\nexec "%s" "%s/agent.cjs" "$@"\\n' "$(command -v node)" "$PWD" >eitri-agent`
  const run = artefact.kind === 'bundle' ? `mv plain agent.cjs && ${wrapper}` : 'mv plain eitri-agent'
  return `
umask 077
cd ${shellWord(staging)} || exit 1
${artefact.compressed ? 'gzip -dc sent >plain || exit 2; rm sent' : 'mv sent plain'} || exit 2
printf 'sha256=%s\\n' "$(sha256sum plain | cut -d' ' -f1)"
${run} && chmod 755 eitri-agent && chmod 711 .`
}

/** Pure: all that runs on the host, for a person to read. */
export function installScriptShown(plan: InstallPlan): string {
  const staging = '.eitri-install-XXXXXXXX'
  const sudo = plan.mode === 'sudo' ? 'sudo ' : ''
  return [
    `# 1. The file is sent to a new folder, ${staging}, that only this login reads.`,
    `# 2. It is unpacked, and must have the SHA-256 ${plan.artefact.sha256}:`,
    unpackScript(staging, plan.artefact).trim(),
    '# 3. The agent installs and starts itself:',
    `${sudo}${agentInstallLine(`./${staging}/eitri-agent`, plan)}`,
    '# 4. The folder is removed.',
    `rm -rf ${staging}`,
  ].join('\n')
}
