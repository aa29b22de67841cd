import { join } from 'node:path'
import { systemClock } from '../../ipc/base/clock.ts'
import { asFault, Fault, findFault } from '../../ipc/faults.ts'
import type { ServeOptions } from '../cli/context.ts'
import type { CliIo } from '../cli/io.ts'
import { type ControlPlane, createControlPlane } from '../control/control-plane.ts'
import { controlPaths, nodePorts } from '../control/node-ports.ts'
import type { Ports } from '../control/ports.ts'
import { openBrowserWindow } from './browser-window.ts'
import { type AskPassphrase, askingFor, withCaPassphrase } from './ca-passphrase.ts'
import { takeDataLock } from './data-lock.ts'
import { launchLink, socketAnswers } from './running.ts'
import { watchWake } from './wake-watch.ts'

/** A stop that takes longer is cut short, ms. */
const STOP_MS = 5_000
/** How long a control plane that holds the lock may take until its socket answers, ms. */
const STARTING_MS = 20_000

interface Running {
  ports: Ports
  control: ControlPlane
  stop(): Promise<void>
}

/** Takes the lock and starts; raises app/already-running and whatever the control plane raises. */
async function start(dataDir: string | undefined, ask: AskPassphrase = async () => undefined): Promise<Running> {
  const paths = controlPaths({ dataDir })
  const lock = await takeDataLock(paths.lock, paths.dataDir)
  try {
    const ports = await withCaPassphrase(nodePorts({ dataDir }), ask)
    const control = createControlPlane(ports)
    await control.start()
    const stop = async () => {
      const late = new AbortController()
      const tooLong = systemClock.sleep(STOP_MS, late.signal).then(
        () => ports.log.warn('control plane did not stop in time', { ms: STOP_MS }),
        () => {},
      )
      await Promise.race([control.stop(), tooLong])
      late.abort()
      await lock.release()
    }
    return { ports, control, stop }
  } catch (error) {
    await lock.release()
    throw error
  }
}

/** A control plane within this process, for one command; with one running already, that one. */
export async function embedControl(dataDir: string | undefined): Promise<{ stop(): Promise<void> }> {
  try {
    return await start(dataDir)
  } catch (error) {
    if (findFault(error)?.code !== 'app/already-running') throw error
    await untilItAnswers(controlPaths({ dataDir }).apiSocket)
    return { async stop() {} }
  }
}

/** Runs a control plane until the signal aborts. Where one runs already, attaches to it if a window or a ready line is all that is asked. */
export async function serveControl(options: ServeOptions, io: CliIo, signal: AbortSignal): Promise<void> {
  let running: Running
  try {
    running = await start(options.dataDir, askingFor(options, io, signal))
  } catch (error) {
    const fault = findFault(error)
    if (fault?.code === 'app/already-running' && (options.open || options.readyJson)) return attach(options, io, fault)
    throw error
  }
  const { ports, control } = running
  const crash = (error: unknown) => {
    ports.log.error('uncaught', { message: String(error), stack: String((error as Error | undefined)?.stack ?? '') })
    io.stderr.write('An unexpected fault inside Eitri; VMs go on. It is in the log.\n')
    process.exit(1)
  }
  process.on('uncaughtException', crash)
  process.on('unhandledRejection', crash)
  try {
    const url = options.port === undefined ? undefined : await control.browserLink(options.port)
    const woke = (sleptMs: number) => {
      ports.log.info('computer woke', { sleptMs })
      control.wake()
    }
    void watchWake(ports.clock, woke, signal)
    await ready(options, io, { attached: false, pid: process.pid, dataDir: ports.paths.dataDir, url })
    await aborted(signal)
  } finally {
    await running.stop()
    process.off('uncaughtException', crash)
    process.off('unhandledRejection', crash)
  }
}

async function attach(options: ServeOptions, io: CliIo, fault: Fault): Promise<void> {
  const { apiSocket, dataDir } = controlPaths({ dataDir: options.dataDir })
  await untilItAnswers(apiSocket)
  const url = options.port === undefined ? undefined : await launchLink(apiSocket)
  await ready(options, io, { attached: true, pid: Number(fault.params['pid']), dataDir, url })
}

interface Ready {
  attached: boolean
  pid: number
  dataDir: string
  url: string | undefined
}

async function ready(options: ServeOptions, io: CliIo, { attached, pid, dataDir, url }: Ready): Promise<void> {
  const { apiSocket } = controlPaths({ dataDir })
  if (options.readyJson)
    io.stdout.write(
      `${JSON.stringify({ ready: true, attached, pid, api_socket: apiSocket, ...(url ? { url } : {}) })}\n`,
    )
  else io.stderr.write(`Eitri ${attached ? 'runs already' : 'is ready'} (pid ${pid}, socket ${apiSocket}).\n`)
  if (url === undefined) return
  const why = options.open ? await openBrowserWindow(url, join(dataDir, 'browser'), io.env) : ''
  if (why === undefined)
    io.stderr.write(`A browser window opens.${attached ? '' : ' Ctrl-C here stops the control plane; VMs go on.'}\n`)
  else if (!options.readyJson) io.stderr.write(`${[why, `Open within 60 s, once: ${url}`].filter(Boolean).join(' ')}\n`)
}

async function untilItAnswers(apiSocket: string): Promise<void> {
  const signal = AbortSignal.timeout(STARTING_MS)
  while (!(await socketAnswers(apiSocket)))
    await systemClock.sleep(100, signal).catch((cause: unknown) => {
      throw new Fault('app/not-running', 'transient', { socket: apiSocket }, { cause: asFault(cause) })
    })
}

const aborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
