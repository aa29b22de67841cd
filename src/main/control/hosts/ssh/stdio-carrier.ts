import { randomBytes } from 'node:crypto'
import { Fault } from '../../../../ipc/faults.ts'
import { KiB } from '../../../../ipc/units.ts'
import type { CommandChannel } from './channel.ts'
import type { SshConnection } from './connection.ts'
import { shellWord } from './exec.ts'
import { openCommand } from './open-command.ts'
import { bySudo, type SudoAs, SudoTalk } from './sudo-talk.ts'

/** What `eitri-agent rpc --stdio` says before the first byte of the agent's socket. */
export const RPC_MAGIC = 'EITRI-AGENT-RPC 1\n'
/** What a login shell may print before it. */
const NOISE_BYTES = 64 * KiB
const START_TIMEOUT_MS = 15_000
const NOT_LISTENING = 3

export interface StdioOptions {
  /** Name of the host, for faults. */
  host: string
  signal: AbortSignal
  /** It stays for the life of the connection. */
  lasting?: boolean
  /** As root: for a login that may not open the socket yet. */
  sudo?: SudoAs | undefined
}

/**
 * The agent's socket through its own program, for servers that forbid forwarding, or that run nothing else. Raises
 * agent/not-running, agent/missing, ssh/sudo-refused and ssh/protocol.
 */
export async function openStdio(
  connection: Pick<SshConnection, 'exec'>,
  agent: { executable: string; socketPath: string },
  { host, signal, lasting = false, sudo }: StdioOptions,
): Promise<CommandChannel> {
  const program = shellWord(agent.executable || 'eitri-agent')
  const command = `${program} rpc --stdio${agent.socketPath ? ` --socket ${shellWord(agent.socketPath)}` : ''}`
  const mark = `eitri-${randomBytes(8).toString('hex')}`
  const channel = await openCommand(connection, sudo ? bySudo(mark, command) : command, signal, { lasting })
  const talk = sudo ? new SudoTalk(mark, sudo, channel) : undefined
  let said = ''
  channel.stderr.on('data', (chunk: Buffer) => {
    if (said.length >= NOISE_BYTES) return
    said += chunk.toString('utf8')
    talk?.heard(said)
  })
  channel.on('error', () => {})
  return new Promise((resolve, reject) => {
    let noise = Buffer.alloc(0)
    const settle = (end: () => void) => {
      clearTimeout(timer)
      talk?.stop()
      signal.removeEventListener('abort', abort)
      channel.off('readable', read)
      channel.off('close', closed)
      end()
    }
    const fail = (error: unknown) =>
      settle(() => {
        channel.destroy()
        reject(error)
      })
    const abort = () => fail(signal.reason)
    const protocol = (detail: string) => fail(new Fault('ssh/protocol', 'transient', { host, detail }))
    const closed = () => fail(exit !== NOT_LISTENING && talk ? talk.fault(host, said) : endFault(host, exit, said))
    let exit: number | null = null
    const read = () => {
      for (let chunk = channel.read() as Buffer | null; chunk !== null; chunk = channel.read() as Buffer | null) {
        noise = Buffer.concat([noise, chunk])
        const at = noise.indexOf(RPC_MAGIC)
        if (at >= 0) {
          const rest = noise.subarray(at + RPC_MAGIC.length)
          return settle(() => {
            if (rest.length > 0) channel.unshift(rest)
            resolve(channel)
          })
        }
        if (noise.length > NOISE_BYTES) return protocol('the login shell prints without end')
      }
    }
    const timer = setTimeout(() => protocol('the agent program did not answer'), START_TIMEOUT_MS)
    if (signal.aborted) return abort()
    signal.addEventListener('abort', abort, { once: true })
    channel.on('exit', (code: number | null) => {
      exit = code
    })
    channel.on('readable', read)
    channel.on('close', closed)
    read()
  })
}

function endFault(host: string, code: number | null, said: string): Fault {
  const detail = said.trim().split('\n').at(-1)?.slice(0, 200) ?? ''
  if (code === NOT_LISTENING) return new Fault('agent/not-running', 'transient', { host, detail })
  if (code === 127 || code === 126) return new Fault('agent/missing', 'permanent', { host, detail })
  return new Fault('ssh/protocol', 'transient', { host, detail: detail || `the agent program ended with ${code}` })
}
