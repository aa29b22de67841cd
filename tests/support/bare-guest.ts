import { type ChildProcessWithoutNullStreams, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

const LOG_TAIL = 4_000
/** Socket in the guest's folder that leads to its guest agent. */
export const CHANNEL = 'guest.sock'

export interface BareGuestOptions {
  /** Holds vmlinux, initrd and cmdline; QEMU's sockets are made there. */
  dir: string
  disk?: string
  seed?: string
  memMb?: number
  /** A port of this computer that leads to the guest's sshd. */
  sshPort?: number
}

/** A guest started by QEMU alone: no agent, no control plane. Its serial console is a pipe. */
export class BareGuest implements AsyncDisposable {
  readonly startedAt = performance.now()
  readonly #child: ChildProcessWithoutNullStreams
  readonly #qmp: string
  #text = ''
  #commands = 0
  #ended = false
  #firstByteMs: number | undefined
  readonly #watchers = new Set<() => void>()

  constructor({ dir, disk, seed, memMb = 96, sshPort }: BareGuestOptions) {
    this.#qmp = join(dir, 'qmp.sock')
    const cmdline = execFileSync('cat', [join(dir, 'cmdline')], { encoding: 'utf8' })
    const forward = sshPort === undefined ? '' : `,hostfwd=tcp:127.0.0.1:${sshPort}-:22`
    const args = [
      '-nodefaults -no-user-config -display none -machine q35 -accel tcg,tb-size=32 -cpu max -smp 1'.split(' '),
      ['-m', String(memMb), '-kernel', 'vmlinux', '-initrd', 'initrd', '-append', cmdline],
      ['-serial', 'stdio', '-qmp', 'unix:qmp.sock,server=on,wait=off', '-device', 'virtio-rng-pci'],
      ['-netdev', `user,id=net0${forward}`, '-device', 'virtio-net-pci,netdev=net0,romfile='],
      ['-device', 'virtio-serial-pci', '-chardev', `socket,id=guest0,path=${CHANNEL},server=on,wait=off`],
      ['-device', 'virtserialport,chardev=guest0,name=org.qemu.guest_agent.0'],
      disk ? ['-drive', `if=virtio,format=qcow2,file=${disk}`] : [],
      seed ? ['-drive', `if=virtio,format=raw,readonly=on,file=${seed}`] : [],
    ].flat()
    this.#child = spawn('qemu-system-x86_64', args, { cwd: dir })
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        this.#firstByteMs ??= performance.now() - this.startedAt
        this.#text += text
        for (const watch of this.#watchers) watch()
      })
    this.#child.once('exit', () => {
      this.#ended = true
      for (const watch of this.#watchers) watch()
    })
    process.once('exit', this.#kill)
  }

  readonly #kill = () => this.#child.kill('SIGKILL')

  /** From start to the console's first byte, ms. */
  get firstByteMs(): number {
    if (this.#firstByteMs === undefined) throw new Error('the console has been silent')
    return this.#firstByteMs
  }

  /** Where the console's text ends now, for `until`. */
  get end(): number {
    return this.#text.length
  }

  /** Text from `after` up to and with the match. */
  async until(pattern: RegExp, after = 0, timeoutMs = 120_000): Promise<string> {
    const deadline = AbortSignal.timeout(timeoutMs)
    for (;;) {
      const match = pattern.exec(this.#text.slice(after))
      if (match) return this.#text.slice(after, after + match.index + match[0].length)
      const why = this.#ended ? 'QEMU ended' : deadline.aborted ? 'the time was up' : undefined
      if (why) throw new Error(`${why} before ${pattern}: ${this.#text.slice(-LOG_TAIL)}`)
      await this.#change(deadline)
    }
  }

  #change(deadline: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#watchers.add(resolve)
    deadline.addEventListener('abort', () => resolve(), { once: true })
    return promise.finally(() => this.#watchers.delete(resolve))
  }

  /** Types a line at the prompt and answers what it prints. The words around it are written so that the echo of the line does not have them. */
  async command(line: string): Promise<string> {
    const from = this.end
    const number = ++this.#commands
    this.#child.stdin.write(`echo begin-$((${number})); ${line}; echo; echo end-$((${number}))\n`)
    const text = (await this.until(new RegExp(`end-${number}\\r`), from)).replaceAll('\r', '')
    return text.slice(text.indexOf(`begin-${number}\n`) + `begin-${number}\n`.length, -`end-${number}`.length).trimEnd()
  }

  /** Presses the power button and waits for QEMU to end by itself. */
  async powerOff(timeoutMs = 60_000): Promise<void> {
    const gone = once(this.#child, 'exit', { signal: AbortSignal.timeout(timeoutMs) })
    const socket = connect(this.#qmp)
    for (const execute of ['qmp_capabilities', 'system_powerdown']) socket.write(JSON.stringify({ execute }))
    for await (const line of createInterface({ input: socket })) if (line.includes('POWERDOWN')) break
    await gone
    socket.destroy()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    process.off('exit', this.#kill)
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const gone = once(this.#child, 'exit')
    this.#kill()
    await gone
  }
}
