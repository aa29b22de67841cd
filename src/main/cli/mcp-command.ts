import { once } from 'node:events'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import type { Command } from 'commander'
import { appVersion } from '../control/node-ports.ts'
import { createMcpServer } from '../mcp/server.ts'
import type { Runner } from './context.ts'

export function mcpCommand(root: Command, run: Runner): void {
  run(
    root
      .command('mcp')
      .description('a Model Context Protocol server on standard input and output; it only looks')
      .option('--allow-writes', 'offer changes too, each by preview and token'),
    async (context, { allowWrites = false }: { allowWrites?: boolean }) => {
      context.deadline(null)
      const fleet = await context.fleet('mcp')
      const { stdin, stdout } = context.io
      const server = createMcpServer({ fleet, allowWrites, version: appVersion(), now: () => Date.now() })
      await server.connect(new StdioServerTransport(stdin, stdout))
      await Promise.race([
        once(stdin, 'end', { signal: context.signal }),
        once(stdin, 'close', { signal: context.signal }),
      ]).catch(() => {})
      await server.close()
    },
  )
}
