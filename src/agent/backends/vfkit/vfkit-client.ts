import { Agent, type IncomingMessage, request } from 'node:http'
import { z } from 'zod'
import { printable } from '../../../ipc/fault-text.ts'
import { Fault } from '../../../ipc/faults.ts'
import { KiB } from '../../../ipc/units.ts'
import { around } from '../../os/failpoints.ts'

/** Longest answer read; what vfkit says of a VM is a few KiB. */
const ANSWER_LIMIT = 256 * KiB
const ANSWER_MS = 5_000
/** Named by nobody: the socket says which VM is meant. */
const HOST = 'vfkit'

const State = z.looseObject({ state: z.string(), canStop: z.boolean(), canHardStop: z.boolean() })
const Inspect = z.looseObject({
  devices: z.array(z.looseObject({ kind: z.string(), ptyName: z.string().optional() })).default([]),
})
const Refusal = z.looseObject({ error: z.string() })

export type VmState = z.infer<typeof State>
export type StateChange = 'Pause' | 'Resume' | 'Stop' | 'HardStop'

/** vfkit gave no answer at all: it is hung, gone, or its socket is. */
export class SilentVfkit extends Fault {}

/** Why there is no console yet: vfkit has not told the name of its pseudo-terminal. */
export const NO_PTY_YET = 'vfkit inspect: no serial PTY yet'

/**
 * The REST interface of every vfkit of this host: the socket of the VM goes with each call, and no connection is kept,
 * so that none can serve another VM. All raise `vmm/failed` (transient), with vfkit's own words where it gave some.
 */
export class VfkitClient {
  readonly #agent = new Agent({ keepAlive: false })

  async state(socket: string): Promise<VmState> {
    return answerOf(State, await this.#ask(socket, 'GET', '/vm/state'), 'state')
  }

  /** Resolves once vfkit accepted it, which for Stop says nothing about the guest. */
  async change(socket: string, state: StateChange): Promise<void> {
    await around('vfkit.command', () => this.#ask(socket, 'POST', '/vm/state', JSON.stringify({ state })))
  }

  /** Path of the console's pseudo-terminal; another one after each start. Raises NO_PTY_YET while there is none. */
  async pty(socket: string): Promise<string> {
    const { devices } = answerOf(Inspect, await this.#ask(socket, 'GET', '/vm/inspect'), 'inspect')
    const name = devices.find(({ kind }) => kind === 'virtioserial')?.ptyName ?? ''
    if (!/^\/dev\/[\w/]+$/.test(name)) throw failed(NO_PTY_YET)
    return name
  }

  async #ask(socketPath: string, method: string, path: string, body?: string): Promise<string> {
    const { status, text } = await exchange(this.#agent, socketPath, method, path, body)
    if (status >= 200 && status < 300) return text
    const refusal = Refusal.safeParse(parseJson(text))
    const words = printable(refusal.success ? refusal.data.error : text)
    throw failed(`vfkit refused ${method} ${path}: ${words === '' ? `status ${status}` : words}`)
  }
}

const failed = (detail: string) => new Fault('vmm/failed', 'transient', { detail })

function exchange(
  agent: Agent,
  socketPath: string,
  method: string,
  path: string,
  body?: string,
): Promise<{ status: number; text: string }> {
  const signal = AbortSignal.timeout(ANSWER_MS)
  const headers = body === undefined ? {} : { 'content-type': 'application/json', 'content-length': body.length }
  return new Promise((resolve, reject) => {
    const refuse = (error: unknown) => {
      const why = signal.aborted ? `no answer within ${ANSWER_MS / 1000} s` : String((error as Error).message)
      const detail = `vfkit ${method} ${path}: ${why}`
      reject(new SilentVfkit('vmm/failed', 'transient', { detail }, { cause: error }))
    }
    const options = { agent, socketPath, method, path, signal, headers: { host: HOST, ...headers } }
    request(options, (response) => {
      readBounded(response).then((text) => resolve({ status: response.statusCode ?? 0, text }), refuse)
    })
      .on('error', refuse)
      .end(body)
  })
}

async function readBounded(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > ANSWER_LIMIT) throw new Error(`it answers with more than ${ANSWER_LIMIT / KiB} KiB`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function answerOf<T>(schema: z.ZodType<T>, text: string, what: string): T {
  const answer = schema.safeParse(parseJson(text))
  if (!answer.success) throw failed(`vfkit ${what}: it answers with something else`)
  return answer.data
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
