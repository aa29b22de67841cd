import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { Fault } from '../../../ipc/faults.ts'

const manifestSchema = z.object({
  version: z.string().regex(/^[0-9A-Za-z.+-]{1,64}$/),
  build_digest: z.string(),
  files: z.record(z.string(), z.object({ sha256: z.string().regex(/^[0-9a-f]{64}$/), size_bytes: z.number() })),
})

/** One agent this build can put on a host. */
export interface Artefact {
  kind: 'executable' | 'bundle'
  /** What is sent. */
  file: string
  sizeBytes: number
  compressed: boolean
  /** Of the file as it stands on the host, unpacked. */
  sha256: string
  unpackedBytes: number
}

export interface Artefacts {
  version: string
  buildDigest: string
  /** Plain file that runs on this computer's own kind of machine; undefined = not built. */
  executable: string | undefined
  /** The bundle for a Node.js 24; undefined = not built. */
  bundle: string | undefined
  get(kind: Artefact['kind']): Artefact
}

const EXECUTABLE = 'eitri-agent-linux-x64'
const BUNDLE = 'agent.cjs'

/** The built agents. Raises app/part-missing; `get` too. */
export async function readArtefacts(dir: string): Promise<Artefacts> {
  const missing = (cause?: unknown) =>
    new Fault(
      'app/part-missing',
      'permanent',
      { part: 'The agent', next: 'Build it with: npm run build:agent' },
      { cause },
    )
  const text = await readFile(join(dir, 'manifest.json'), 'utf8').catch((error: unknown) => {
    throw missing(error)
  })
  const parsed = manifestSchema.safeParse(JSON.parse(text))
  if (!parsed.success) throw missing(parsed.error)
  const { version, build_digest, files } = parsed.data
  const pathOf = (name: string) => (files[name] ? join(dir, name) : undefined)
  return {
    version,
    buildDigest: build_digest,
    executable: pathOf(EXECUTABLE),
    bundle: pathOf(BUNDLE),
    get(kind) {
      const name = kind === 'bundle' ? BUNDLE : EXECUTABLE
      const plain = files[name]
      const packed = files[`${name}.gz`]
      if (!plain) throw missing()
      const sent = packed ? { name: `${name}.gz`, ...packed } : { name, ...plain }
      return {
        kind,
        file: join(dir, sent.name),
        sizeBytes: sent.size_bytes,
        compressed: packed !== undefined,
        sha256: plain.sha256,
        unpackedBytes: plain.size_bytes,
      }
    },
  }
}
