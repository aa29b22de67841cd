import { access } from 'node:fs/promises'
import { agentKeyBlobs } from './ssh/agent-keys.ts'
import { type ConfiguredHost, knownAs } from './ssh/config.ts'
import type { RunLocal } from './ssh/config-reader.ts'
import { hasAuthority } from './ssh/host-keys.ts'
import { keyTypeOf } from './ssh/key-blob.ts'
import { readKnownHosts } from './ssh/known-hosts.ts'
import { publicKeyOf } from './ssh/public-key.ts'
import type { ClientFacts } from './ssh-client-choice.ts'

/** Looks at what the configuration names: files, the SSH agent, a Kerberos ticket. Raises ssh/config-invalid. */
export async function gatherClientFacts(
  { target, says }: ConfiguredHost,
  run: RunLocal,
  signal: AbortSignal,
): Promise<ClientFacts> {
  const found = await Promise.all(target.identityFiles.map(async (file) => ({ file, blob: await publicKeyOf(file) })))
  const keys = found.flatMap(({ file, blob }) => (blob ? [{ file, blob }] : []))
  const beside = target.identityFiles.map((file) => `${file}-cert.pub`)
  const known = await readKnownHosts(target.knownHostsFiles, target.host)
  const { host, port } = knownAs(target)
  const held = await agentKeyBlobs(target.identityAgent)
  const offered = target.identitiesOnly ? held.filter((blob) => keys.some((key) => key.blob.equals(blob))) : held
  return {
    says,
    keys: keys.map(({ file, blob }) => ({ file, type: keyTypeOf(blob) ?? '' })),
    certificates: await existing([...says.certificateFiles, ...beside]),
    agentTypes: offered.map((blob) => keyTypeOf(blob) ?? ''),
    ticket: says.gssapi && (await run('klist', ['-s'], signal))?.code === 0,
    hostAuthority: hasAuthority(known, host, port),
  }
}

async function existing(files: readonly string[]): Promise<string[]> {
  const there = await Promise.all(
    files.map((file) =>
      access(file).then(
        () => true,
        () => false,
      ),
    ),
  )
  return [...new Set(files.filter((_, index) => there[index]))]
}
