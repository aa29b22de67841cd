import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { versionIn } from './openssh/version.ts'
import { agentKeyBlobs } from './ssh/agent-keys.ts'
import { type RunLocal, runLocal } from './ssh/config-reader.ts'

/** What of SSH is there on this computer; empty = not there. */
export interface SshFacts {
  configPath: string
  clientVersion: string
  agentSocket: string
  agentKeys: number
  keychain: boolean
}

export interface SshFactsInput {
  sshDir: string
  env: Readonly<Record<string, string | undefined>>
  keychain: boolean
}

/** Looks at the person's SSH when asked; the client, which stays as it is, once. Never rejects. */
export function sshFacts({ sshDir, env, keychain }: SshFactsInput, run: RunLocal = runLocal): () => Promise<SshFacts> {
  let version: Promise<string> | undefined
  const config = join(sshDir, 'config')
  return async () => {
    version ??= clientVersion(run)
    const agentSocket = env['SSH_AUTH_SOCK'] ?? ''
    const [clientVersionFound, configPath, keys] = await Promise.all([
      version,
      access(config).then(
        () => config,
        () => '',
      ),
      agentKeyBlobs(agentSocket),
    ])
    return { configPath, clientVersion: clientVersionFound, agentSocket, agentKeys: keys.length, keychain }
  }
}

async function clientVersion(run: RunLocal): Promise<string> {
  const said = await run('ssh', ['-V'], new AbortController().signal).catch(() => undefined)
  return said ? (versionIn(`${said.stderr}${said.stdout}`)?.text ?? 'another ssh') : ''
}
