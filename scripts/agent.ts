import { join } from 'node:path'
import { buildApart } from './build.ts'
import { root } from './root.ts'

await buildApart(['agent'])
await import(join(root, 'dist/agent/agent.cjs'))
