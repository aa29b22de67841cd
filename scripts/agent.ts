import { join } from 'node:path'
import { ensureBuilt } from './build.ts'
import { root } from './root.ts'

await ensureBuilt(['agent'], (target) => console.error(`build: ${target}`))
await import(join(root, 'dist/agent/agent.cjs'))
