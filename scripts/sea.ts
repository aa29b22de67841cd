import { execFileSync } from 'node:child_process'
import { createReadStream, createWriteStream } from 'node:fs'
import { chmod, copyFile, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { inject } from 'postject'
import { root } from './root.ts'

const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2'

/** dist/agent/eitri-agent-linux-<arch> and its .gz: agent.cjs inside a copy of the project's Node. */
export async function buildExecutable(): Promise<void> {
  const work = await mkdtemp(join(tmpdir(), 'eitri-sea-'))
  try {
    const exe = join(work, 'agent')
    const blob = join(work, 'agent.blob')
    const config = join(work, 'sea.json')
    const main = join(root, 'dist/agent/agent.cjs')
    await writeFile(
      config,
      JSON.stringify({
        main,
        output: blob,
        disableExperimentalSEAWarning: true,
        useCodeCache: false,
        useSnapshot: false,
      }),
    )
    execFileSync(process.execPath, ['--experimental-sea-config', config], { stdio: 'pipe' })
    await copyFile(process.execPath, exe)
    await chmod(exe, 0o755)
    await quietly(async () => inject(exe, 'NODE_SEA_BLOB', await readFile(blob), { sentinelFuse: FUSE }))
    await pipeline(createReadStream(exe), createGzip(), createWriteStream(`${exe}.gz`))
    const out = join(root, `dist/agent/eitri-agent-linux-${process.arch}`)
    for (const suffix of ['', '.gz']) {
      await copyFile(exe + suffix, `${out}${suffix}.new`)
      await rename(`${out}${suffix}.new`, out + suffix)
    }
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

/** postject warns about section names that every Node binary has. */
async function quietly(run: () => Promise<void>): Promise<void> {
  const { log, warn } = console
  console.log = console.warn = () => {}
  try {
    await run()
  } finally {
    Object.assign(console, { log, warn })
  }
}
