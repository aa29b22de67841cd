import { createHash } from 'node:crypto'
import { createReadStream, existsSync, statSync } from 'node:fs'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { type BuildOptions, build } from 'esbuild'
import { root } from './root.ts'

const ZERO_DIGEST = '0'.repeat(64)
const version = async () =>
  (JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string }).version

const common: BuildOptions = {
  absWorkingDir: root,
  bundle: true,
  platform: 'node',
  target: 'node24',
  legalComments: 'none',
  logLevel: 'error',
  write: false,
  // ssh2 runs without its native addons and asks for them in a try block
  external: ['*.node', 'cpu-features'],
}
// CommonJS packages inside an ES module bundle still call require for Node's own modules and read __dirname (ssh2).
const REQUIRE =
  "import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url),__dirname=import.meta.dirname;"

/** Replaces the file in one step, so that a running program keeps what it has open. */
export async function replaceFile(file: string, content: Uint8Array | string, mode = 0o644): Promise<void> {
  await mkdir(dirname(file), { recursive: true })
  await writeFile(`${file}.new`, content, { mode })
  await rename(`${file}.new`, file)
}

async function bundle(options: BuildOptions, finish: (text: string) => string = (text) => text): Promise<void> {
  const { outputFiles = [] } = await build({ ...common, ...options })
  for (const { path, text } of outputFiles) await replaceFile(path, path.endsWith('.map') ? text : finish(text))
}

const esm = async (external: string[]): Promise<BuildOptions> => ({
  outdir: 'dist/main',
  outExtension: { '.js': '.mjs' },
  format: 'esm',
  sourcemap: 'external',
  banner: { js: REQUIRE },
  external: [...(common.external ?? []), ...external],
  define: { __EITRI_VERSION__: JSON.stringify(await version()) },
})

/** dist/main/serve.mjs and cli.mjs: plain Node, no electron anywhere. */
export async function bundlePlain(): Promise<void> {
  await bundle({ ...(await esm([])), entryPoints: { serve: 'src/main/serve.ts', cli: 'src/main/cli/index.ts' } })
}

/** dist/main/index.mjs: Electron's main. */
export async function bundleElectron(): Promise<void> {
  await bundle({ ...(await esm(['electron'])), entryPoints: { index: 'src/main/index.ts' } })
}

/** dist/preload/preload.cjs: a sandboxed preload must be CommonJS. */
export async function bundlePreload(): Promise<void> {
  await bundle({
    entryPoints: { preload: 'src/main/shell/preload.ts' },
    outdir: 'dist/preload',
    outExtension: { '.js': '.cjs' },
    format: 'cjs',
    external: ['electron'],
  })
}

/** dist/agent/agent.cjs. Its build digest is the SHA-256 of the same file with the digest's 64 digits as zeros. */
export async function bundleAgent(): Promise<void> {
  const define = {
    __EITRI_VERSION__: JSON.stringify(await version()),
    __EITRI_BUILD_DIGEST__: JSON.stringify(ZERO_DIGEST),
  }
  await bundle(
    {
      entryPoints: { agent: 'src/agent/index.ts' },
      outdir: 'dist/agent',
      outExtension: { '.js': '.cjs' },
      format: 'cjs',
      minify: true,
      keepNames: true,
      define,
    },
    (text) => text.replaceAll(ZERO_DIGEST, createHash('sha256').update(text).digest('hex')),
  )
}

/** The digest a bundle carries; throws when the bundle was changed afterwards. */
export function buildDigestOf(bundleText: string): string {
  for (const [digest] of bundleText.matchAll(/[0-9a-f]{64}/g)) {
    const zeroed = bundleText.replaceAll(digest, ZERO_DIGEST)
    if (createHash('sha256').update(zeroed).digest('hex') === digest) return digest
  }
  throw new Error('the agent bundle does not carry its own digest')
}

async function fileDigest(file: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(file), hash)
  return hash.digest('hex')
}

/** dist/agent/manifest.json: the bundle and the executables made from this very bundle, each with digest and size. */
export async function writeAgentManifest(): Promise<void> {
  const dir = join(root, 'dist/agent')
  const build_digest = buildDigestOf(await readFile(join(dir, 'agent.cjs'), 'utf8'))
  const exe = `eitri-agent-linux-${process.arch}`
  const current = existsSync(join(dir, exe)) && (await readFile(join(dir, exe))).includes(build_digest)
  const files: Record<string, { sha256: string; size_bytes: number }> = {}
  for (const name of current ? ['agent.cjs', exe, `${exe}.gz`] : ['agent.cjs']) {
    const file = join(dir, name)
    files[name] = { sha256: await fileDigest(file), size_bytes: statSync(file).size }
  }
  const manifest = { version: await version(), build_digest, files }
  await replaceFile(join(dir, 'manifest.json'), `${JSON.stringify(manifest, null, 2)}\n`)
}
