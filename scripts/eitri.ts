import { join } from 'node:path'
import { buildApart, TARGETS } from './build.ts'
import { root } from './root.ts'

// What starts a control plane needs everything it serves and installs; a client only itself.
const starts = process.argv.some((argument) => argument === 'serve' || argument === '--embedded')
const targets = starts ? TARGETS.filter((target) => target !== 'electron' && target !== 'preload') : (['main'] as const)
await buildApart(targets)
await import(join(root, 'dist/main/cli.mjs'))
