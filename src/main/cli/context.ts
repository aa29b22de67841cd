import type { DescMessage, MessageShape } from '@bufbuild/protobuf'
import type { Command } from 'commander'
import { Fault } from '../../ipc/faults.ts'
import { contractJson } from '../contract-json.ts'
import { type AskAs, type FleetClient, fleetClient } from '../fleet-client.ts'
import { type CliIo, write } from './io.ts'

/** A keychain may ask the person first. */
export const KEYCHAIN_MS = 150_000
/** Commands that only ask are answered at once or not at all. */
const ASK_MS = 30_000

export interface CliParts {
  io: CliIo
  now: () => number
  /** API socket of the control plane on a data folder; undefined = the person's own. */
  apiSocket(dataDir: string | undefined): string
  /** Absent = this command line runs no ssh. */
  ssh?: SshParts
  /** Starts a control plane in this process; with one running already, uses that. */
  embed(dataDir: string | undefined): Promise<{ stop(): Promise<void> }>
  /** Puts a copy in the place of the database while no control plane runs. Raises app/already-running and store/not-restored. Absent = not by this command line. */
  restore?(dataDir: string | undefined, file: string): Promise<RestoredStore>
  /** Runs a control plane until the signal aborts; attaches to one that runs, where that is enough. */
  serve(options: ServeOptions, io: CliIo, signal: AbortSignal): Promise<void>
}

/** The person's own ssh, and what it is told of this program. */
export interface SshParts {
  /** Where the control plane on a data folder has the sockets of logins to guests. */
  logins(dataDir: string | undefined): string
  /** The person's ~/.ssh. */
  dir: string
  /** This program, for others to run: a command and its first arguments. */
  self: readonly string[]
  /** On this terminal; its exit code. Raises app/part-missing. */
  run(args: readonly string[], signal: AbortSignal): Promise<number>
  /** What `ssh -V` says; empty = there is none. */
  version(): Promise<string>
}

/** What a restore did. */
export interface RestoredStore {
  path: string
  /** Where the database before is. Empty = there was none. */
  keptAt: string
  schema: number
  hosts: number
  vms: number
  /** What a restore elsewhere needs beside it, one sentence each. */
  needs: string[]
}

export interface ServeOptions {
  dataDir?: string
  /** Absent = the unix socket alone; else the loopback port, 0 = as last time. */
  port?: number
  open: boolean
  readyJson: boolean
  /** A passphrase is to be asked that seals CA keys from now on. */
  caPassphrase?: boolean
}

export interface GlobalOptions {
  json?: boolean
  dataDir?: string
  timeout?: number
  embedded?: boolean
  tenant?: string
}

/** One run of one command: its options, its deadline and the control plane it talks to. */
export class CommandContext {
  readonly io: CliIo
  readonly parts: CliParts
  readonly options: GlobalOptions
  /** Undefined = as it ended. */
  exitCode: number | undefined
  readonly #abort = new AbortController()
  #timer: NodeJS.Timeout | undefined
  #embedded: { stop(): Promise<void> } | undefined

  constructor(parts: CliParts, options: GlobalOptions) {
    this.parts = parts
    this.io = parts.io
    this.options = options
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  get json(): boolean {
    return this.options.json === true
  }

  get socketPath(): string {
    return this.parts.apiSocket(this.options.dataDir)
  }

  /** Raises app/part-missing. */
  get ssh(): SshParts {
    if (this.parts.ssh) return this.parts.ssh
    throw new Fault('app/part-missing', 'permanent', { part: 'ssh (the OpenSSH client)' })
  }

  get askAs(): AskAs {
    return { client: 'cli', tenant: this.options.tenant }
  }

  /** Of another program that did what was asked: its exit code is the command's. */
  exitWith(code: number): void {
    this.exitCode = code
  }

  cancel(): void {
    this.#abort.abort(new Fault('app/cancelled', 'cancelled'))
  }

  /** Sets the deadline: the person's --timeout, else `defaultMs`; null = none. */
  deadline(defaultMs: number | null = ASK_MS): void {
    const ms = this.options.timeout ?? defaultMs
    clearTimeout(this.#timer)
    if (ms === null) return
    const fault = new Fault('app/timeout', 'transient', { timeout: `${ms / 1000} s` })
    this.#timer = setTimeout(() => this.#abort.abort(fault), ms)
  }

  /** Asks as the command line unless this command is another client. */
  async fleet(client = this.askAs.client): Promise<FleetClient> {
    if (this.options.embedded && !this.#embedded) this.#embedded = await this.parts.embed(this.options.dataDir)
    return fleetClient(this.socketPath, { ...this.askAs, client })
  }

  /** The command's answer: the message as one JSON document with what `also` puts beside its fields, or `words` for people. */
  async answer<D extends DescMessage>(
    schema: D,
    message: MessageShape<D>,
    words: () => string,
    also: Record<string, boolean | string | string[]> = {},
  ): Promise<void> {
    if (!this.json) return this.say(words())
    await this.document({ ...contractJson(schema, message), ...also })
  }

  document(value: unknown): Promise<void> {
    return this.say(`${JSON.stringify(value, null, 2)}\n`)
  }

  say(text: string): Promise<void> {
    return text === '' ? Promise.resolve() : write(this.io.stdout, text)
  }

  /** A line beside the answer: progress and notices. */
  note(text: string): void {
    this.io.stderr.write(`${text}\n`)
  }

  async end(): Promise<void> {
    clearTimeout(this.#timer)
    await this.#embedded?.stop()
  }
}

/** Ties a command of the program to what it does; the last two arguments commander gives are folded into the context. */
export type Action<A extends unknown[]> = (context: CommandContext, ...args: A) => Promise<void>
export type Runner = <A extends unknown[]>(command: Command, action: Action<A>) => void
