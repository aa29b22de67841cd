import type { Command } from 'commander'
import { printable } from '../../ipc/fault-text.ts'
import { Fault } from '../../ipc/faults.ts'
import type { Vm } from '../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { KiB, LIMITS, MiB } from '../../ipc/units.ts'
import { ConsoleClient } from './console-client.ts'
import { CONSOLE_KEYS_HELP, consoleKeys, withoutAnswers } from './console-keys.ts'
import { readRecord } from './console-record.ts'
import type { CommandContext, Runner } from './context.ts'
import { write } from './io.ts'
import { offset, reference, wholeNumber } from './options.ts'
import { invalid } from './outcome.ts'

const TAIL_BYTES = 16 * KiB
/** With the input at its end, the console is done once the guest said nothing for this long, ms. */
const QUIET_MS = 2_000
/** A terminal answers queries in replayed text within this time, ms. */
const ANSWER_MS = 150
/** Largest record `--json` answers with. */
const DOCUMENT_BYTES = 16 * MiB

interface Options {
  from?: bigint
  tail?: number
  readOnly?: boolean
  follow: boolean
  raw?: boolean
}

export function consoleCommand(root: Command, run: Runner): void {
  run(
    root
      .command('console <name>')
      .description(`the serial console; standard input is typed. At a terminal: ${CONSOLE_KEYS_HELP}`)
      .option('--from <offset>', 'from this byte of the record on', offset)
      .option('--tail <bytes>', `from this many bytes before the end (default ${TAIL_BYTES})`, wholeNumber)
      .option('--read-only', 'type nothing')
      .option('--no-follow', 'end at what is recorded now (from its beginning unless --from or --tail says otherwise)')
      .option('--raw', 'bytes as they are: no escape key, no notices'),
    async (context, name: string, options: Options) => {
      context.deadline(null)
      if (options.from !== undefined && options.tail !== undefined)
        throw invalid('console', '', 'give --from or --tail, not both')
      const ref = reference('vm', name)
      const { vm } = await (await context.fleet()).vms.getVm({ vm: ref }, { signal: context.signal })
      if (!vm) throw new Fault('vm/not-found', 'permanent', { vm: ref })
      if (vm.unowned) throw new Fault('vm/unowned', 'permanent', { vm: vm.name || vm.id, host: vm.hostName })
      if (context.json) await document(context, vm, options)
      else await show(context, vm.id, options)
    },
  )
}

function place({ from, tail, follow }: Options): { from: bigint } | { tailBytes: number } {
  if (from !== undefined) return { from }
  if (tail === undefined && !follow) return { from: 0n }
  return { tailBytes: tail ?? TAIL_BYTES }
}

const asked = ({ socketPath, signal, askAs }: CommandContext) => ({ socketPath, signal, askAs })

async function document(context: CommandContext, { id, name }: Vm, options: Options): Promise<void> {
  const chunks: Uint8Array[] = []
  let size = 0
  const { start, end, head } = await readRecord(
    { ...asked(context), vm: id, ...place({ ...options, follow: false }) },
    async (bytes) => {
      size += bytes.length
      if (size > DOCUMENT_BYTES)
        throw invalid('console', '', 'the record is too long for one document: use --tail or --from')
      chunks.push(bytes)
    },
  )
  const all = Buffer.concat(chunks)
  await context.document({
    vm: name,
    vm_id: id,
    start_offset: `${start}`,
    end_offset: `${end}`,
    head_offset: `${head}`,
    text: all.toString('utf8'),
    data_base64: all.toString('base64'),
  })
}

async function show(context: CommandContext, vm: string, options: Options): Promise<void> {
  const { stdout } = context.io
  const gone = Promise.withResolvers<void>()
  // Whoever read our output has enough: `eitri console vm | head`.
  const broken = (error: NodeJS.ErrnoException) => (error.code === 'EPIPE' ? gone.resolve() : gone.reject(error))
  stdout.on('error', broken)
  try {
    const work = options.follow
      ? follow(context, vm, options)
      : readRecord({ ...asked(context), vm, ...place({ ...options, follow: false }) }, (bytes) =>
          write(stdout, bytes),
        ).then(() => {})
    await Promise.race([work, gone.promise])
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EPIPE') return
    // Ctrl-C is how a person ends a console that is only read.
    if (error instanceof Fault && error.code === 'app/cancelled') return
    throw error
  } finally {
    stdout.off('error', broken)
  }
}

async function follow(context: CommandContext, vm: string, options: Options): Promise<void> {
  const { io, socketPath, signal } = context
  const { stdin, stdout } = io
  const typed = !options.readOnly
  const terminal = typed && stdin.isTTY === true
  const notice = (text: string) => {
    if (!options.raw) io.stderr.write(`${terminal ? '\r\n' : ''}[${printable(text)}]${terminal ? '\r\n' : '\n'}`)
  }
  let replayEnd = 0n
  let answersUntil = Number.POSITIVE_INFINITY
  let lastByteAt = 0
  let link = ''
  const client = new ConsoleClient({
    ...place(options),
    socketPath,
    askAs: context.askAs,
    vm,
    readOnly: !typed,
    signal,
    opened({ start, end }) {
      replayEnd = end
      if (start >= end) answersUntil = 0
    },
    async data(bytes, at) {
      await write(stdout, bytes)
      lastByteAt = performance.now()
      const end = at + BigInt(bytes.length)
      if (end >= replayEnd && answersUntil === Number.POSITIVE_INFINITY) answersUntil = lastByteAt + ANSWER_MS
    },
    skipped: (from, to) => notice(`${to - from} bytes of the record are gone`),
    state(now, detail) {
      if (now !== link || detail)
        notice(detail || { live: 'connected', stopped: 'the VM is off', reconnecting: 'reconnecting' }[now])
      link = now
    },
    keyboard(holder) {
      if (holder || !typed) return
      if (terminal) notice('another viewer holds the keyboard; Ctrl-] k takes it')
      else client.takeKeyboard()
    },
  })
  if (!typed) return client.done
  if (!terminal) {
    void pipeIn(context, client, () => lastByteAt)
    return client.done
  }
  if (!options.raw) notice(CONSOLE_KEYS_HELP)
  const send = (bytes: Uint8Array) => {
    // What a terminal answers to queries in replayed text must not be typed into the guest.
    void client.type(options.raw || performance.now() > answersUntil ? bytes : withoutAnswers(bytes))
  }
  const keys = options.raw
    ? send
    : consoleKeys({ send, leave: () => client.close(), takeKeyboard: () => client.takeKeyboard(), help: notice })
  stdin.setRawMode?.(true)
  stdin.on('data', keys)
  try {
    await client.done
  } finally {
    stdin.off('data', keys)
    stdin.setRawMode?.(false)
    stdin.pause()
  }
}

/** Types what comes in by a pipe, then ends the console when the guest has gone quiet. */
async function pipeIn({ io, signal }: CommandContext, client: ConsoleClient, lastByteAt: () => number): Promise<void> {
  try {
    for await (const chunk of io.stdin as AsyncIterable<Buffer>)
      for (let at = 0; at < chunk.length; at += LIMITS.consoleInputBytes)
        await client.type(chunk.subarray(at, at + LIMITS.consoleInputBytes))
    await client.type(new Uint8Array())
  } catch {
    // An input that breaks is at its end.
  }
  let quietSince = performance.now()
  const timer = setInterval(() => {
    quietSince = Math.max(quietSince, lastByteAt())
    if (performance.now() - quietSince < QUIET_MS) return
    clearInterval(timer)
    client.close()
  }, QUIET_MS / 10)
  const stop = () => clearInterval(timer)
  client.done.then(stop, stop)
  signal.addEventListener('abort', stop, { once: true })
}
