import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { lookup } from '../../../ipc/base/lookup.ts'
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
  /** The unpacked file of a kind for a Linux machine ("x86_64", "aarch64"); undefined = not built. */
  find(kind: Artefact['kind'], machine: string): string | undefined
  /** What to send to such a machine. */
  get(kind: Artefact['kind'], machine: string): Artefact
}

const BUNDLE = 'agent.cjs'
const ARCH: Record<string, string> = { x86_64: 'x64', aarch64: 'arm64' }
const nameOf = (kind: Artefact['kind'], machine: string) =>
  kind === 'bundle' ? BUNDLE : `eitri-agent-linux-${lookup(ARCH, machine) ?? machine}`

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
  const parsed = manifestSchema.safeParse(parsedJson(text))
  if (!parsed.success) throw missing(parsed.error)
  const { version, build_digest, files } = parsed.data
  return {
    version,
    buildDigest: build_digest,
    find(kind, machine) {
      const name = nameOf(kind, machine)
      return files[name] && join(dir, name)
    },
    get(kind, machine) {
      const name = nameOf(kind, machine)
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

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
