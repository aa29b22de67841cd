import { once } from 'node:events'
import type { Command } from 'commander'
import { appVersion } from '../control/node-ports.ts'
import type { Runner } from './context.ts'

export function mcpCommand(root: Command, run: Runner): void {
  run(
    root
      .command('mcp')
      .description('a Model Context Protocol server on standard input and output; it only looks')
      .option('--allow-writes', 'offer changes too, each by preview and token'),
    async (context, { allowWrites = false }: { allowWrites?: boolean }) => {
      context.deadline(null)
      // No other command needs them: they are not read at its start.
      const { StdioServerTransport } = await import('@modelcontextprotocol/sdk/server/stdio.js')
      const { createMcpServer } = await import('../mcp/server.ts')
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
