import { spawn } from 'node:child_process'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Fault } from '../../../../ipc/faults.ts'
import { lostFault, protocolFault } from '../ssh/sign-in-faults.ts'
import { aliveArguments, commandArguments, isForwardable, socketArguments, tcpArguments } from './arguments.ts'
import type { FolderWatch } from './folder-watch.ts'
import { type ChannelEnd, type PipedProcess, ProcessChannel } from './process-channel.ts'

/** A master that is signed in. */
export interface SignedInMaster {
  dir: string
  /** Name of the host, for faults. */
  host: string
  changes: Pick<FolderWatch, 'until'>
  env: NodeJS.ProcessEnv
  /** Aborts, with its fault, when the master ended. */
  gone: AbortSignal
}

/** The server's no to one more session, with SSH's own reason code, as ssh2 tells it. */
export class OpenRefused extends Error {
  readonly reason = 2
}

const OPEN_TIMEOUT_MS = 15_000
const SSH_FAILED = 255

/** Processes of ssh that each open one channel over a master's sign-in, and none of their own. */
export class Slaves {
  readonly #master: SignedInMaster
  #count = 0

  constructor(master: SignedInMaster) {
    this.#master = master
  }

  /** Raises OpenRefused, ssh/protocol, and what the master ended with. */
  command(command: string, pty: boolean): Promise<ProcessChannel> {
    return this.#open((log) => commandArguments(this.#master.dir, log, command, pty))
  }

  /** Raises OpenRefused, ssh/protocol, and what the master ended with. */
  tcp(host: string, port: number): Promise<ProcessChannel> {
    return this.#open((log) => tcpArguments(this.#master.dir, log, host, port))
  }

  /** Makes the master listen for a socket of the host; where. Raises ssh/protocol, and what the master ended with. */
  async listen(remote: string): Promise<string> {
    if (!isForwardable(remote)) throw this.#failed('its socket has a name that ssh would change')
    const local = this.#file('l')
    const { code, said } = await this.#ran((log) => socketArguments(this.#master.dir, log, local, remote))
    if (code === 0) return local
    this.#master.gone.throwIfAborted()
    throw this.#failed(said)
  }

  async #open(argumentsFor: (log: string) => string[]): Promise<ProcessChannel> {
    const { gone, changes } = this.#master
    gone.throwIfAborted()
    const log = this.#file('e')
    const child = this.#spawn(argumentsFor(log))
    const over = new AbortController()
    child.on('close', () => over.abort())
    const signal = AbortSignal.any([over.signal, gone, AbortSignal.timeout(OPEN_TIMEOUT_MS)])
    const look = async () => opennessOf(await textOf(log))
    // One that ended at once may have said so in its last moment.
    const state = changes.until(look, signal).catch(look)
    const channel = new ProcessChannel(child, async (code) => {
      await state
      const said = await textOf(log)
      await rm(log, { force: true })
      return this.#endOf(code, said)
    })
    switch (await state) {
      case 'open':
        return channel
      case 'refused':
        channel.close()
        throw new OpenRefused('the server opens no further session')
      default:
        channel.close()
        gone.throwIfAborted()
        throw this.#failed(over.signal.aborted ? await textOf(log) : 'no answer to a channel open')
    }
  }

  async #endOf(code: number, said: string): Promise<ChannelEnd> {
    if (code !== SSH_FAILED || !said.includes(CUT_OFF)) return { status: code }
    const { gone } = this.#master
    // A command ended by a signal looks like a master that is gone, but for the master.
    const alive = !gone.aborted && (await this.#ran((log) => aliveArguments(this.#master.dir, log))).code === 0
    if (alive) return { status: null }
    return { lost: gone.reason instanceof Fault ? gone.reason : lostFault(this.#master) }
  }

  async #ran(argumentsFor: (log: string) => string[]): Promise<{ code: number; said: string }> {
    const log = this.#file('e')
    const child = this.#spawn(argumentsFor(log))
    child.stdin.end()
    for (const stream of [child.stdout, child.stderr]) stream.resume()
    const code = await new Promise<number>((resolve) => child.on('close', (code) => resolve(code ?? SSH_FAILED)))
    const said = await textOf(log)
    await rm(log, { force: true })
    return { code, said }
  }

  #spawn(args: string[]): PipedProcess {
    const child = spawn('ssh', args, { env: this.#master.env, stdio: ['pipe', 'pipe', 'pipe'] })
    // Its end is told by `close`.
    child.on('error', () => {})
    return child
  }

  #failed(said: string): Fault {
    const words = said
      .split('\n')
      .filter((line) => line !== '' && !/^(debug\d|kex_exchange|Connection closed)/.test(line))
    return protocolFault(this.#master, (words.at(-1) ?? 'ssh ended').replace(/^\w+: /, ''))
  }

  #file(kind: 'e' | 'l'): string {
    return join(this.#master.dir, `${kind}${++this.#count}`)
  }
}

const CUT_OFF = 'Control master terminated unexpectedly'

/** ssh says so at debug level, in words it has had since it can share a sign-in. */
function opennessOf(said: string): 'open' | 'refused' | undefined {
  if (/master session id: \d+/.test(said)) return 'open'
  return /request failed/.test(said) ? 'refused' : undefined
}

const textOf = (file: string): Promise<string> => readFile(file, 'utf8').catch(() => '')
