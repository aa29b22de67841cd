import { appendFileSync } from 'node:fs'
import { chromium } from 'playwright-core'
import { Desktop } from '../support/eitri.ts'
import { addHost } from '../support/fleet.ts'
import { type SshHost, startSshHost } from '../support/ssh-host.ts'
import { type BenchResult, result } from './measure.ts'

const LOG_BYTES = 200_000_000
const BLOCK_LINES = 10_000
const LAST_LINE = 'the last line of the recorded log'
const WAIT_MS = 300_000

/** Lines as a boot log has them, the same block over and over, closed by a line of its own. */
function recordedLog(): { block: string; times: number; last: string } {
  const words = 'systemd kernel: eth0 link becomes ready; mounted /dev/vda on /data type ext2 (rw,relatime)'
  const lines = Array.from(
    { length: BLOCK_LINES },
    (_, n) => `[${String(n).padStart(8)}.${n % 977}] ${words.slice(n % 40)}\r\n`,
  )
  const block = lines.join('')
  return { block, times: Math.ceil(LOG_BYTES / block.length), last: `${LAST_LINE}\r\n` }
}

/** In the page: opens every console from its first byte instead of its tail, and notes when it asked. */
function fromTheStart(): void {
  const send = WebSocket.prototype.send
  WebSocket.prototype.send = function (data) {
    const frame = new Uint8Array(data as ArrayBuffer)
    const text = new TextDecoder().decode(frame.subarray(5))
    if (!text.includes('"tailBytes"')) return send.call(this, data)
    const { tailBytes: _, ...open } = JSON.parse(text)
    const body = new TextEncoder().encode(JSON.stringify({ ...open, from: '0' }))
    const out = new Uint8Array(5 + body.length)
    out.set(frame.subarray(0, 5))
    out.set(body, 5)
    Object.assign(window, { eitriAskedAt: performance.now() })
    return send.call(this, out)
  }
}

/** In the page: waits until xterm shows the last line; ms since the console was asked for. */
function untilLastLine(last: string): Promise<number> {
  const seen = () => {
    const node = [...document.querySelectorAll('*')].find((e) => 'eitriTerminal' in e) as any
    const buffer = node?.eitriTerminal.buffer.active
    if (!buffer) return false
    for (let y = buffer.length - 1; y >= Math.max(0, buffer.length - 60); y--)
      if (buffer.getLine(y).translateToString(true) === last) return true
    return false
  }
  return new Promise((resolve) => {
    const look = () => (seen() ? resolve(performance.now() - (window as any).eitriAskedAt) : setTimeout(look, 50))
    look()
  })
}

/** In the page: the same bytes straight into the same xterm, with the flow control a console has; ms. */
async function straight({ block, times, last }: { block: string; times: number; last: string }): Promise<number> {
  const CHUNK = 64 * 1024
  const WINDOW = 512 * 1024
  const node = [...document.querySelectorAll('*')].find((e) => 'eitriTerminal' in e) as any
  const terminal = node.eitriTerminal
  terminal.reset()
  const bytes = new TextEncoder().encode(block)
  const start = performance.now()
  let waiting = 0
  let wake = () => {}
  const write = async (chunk: Uint8Array) => {
    waiting += chunk.length
    terminal.write(chunk, () => {
      waiting -= chunk.length
      wake()
    })
    while (waiting > WINDOW)
      await new Promise<void>((resolve) => {
        wake = resolve
      })
  }
  for (let n = 0; n < times; n++)
    for (let at = 0; at < bytes.length; at += CHUNK) await write(bytes.subarray(at, at + CHUNK))
  await new Promise<void>((resolve) => terminal.write(last, resolve))
  return performance.now() - start
}

async function stoppedVm(desktop: Desktop, host: SshHost): Promise<{ id: string; log: string }> {
  await addHost(desktop, host)
  await desktop.must(['image', 'build-tiny'], { timeoutMs: WAIT_MS })
  const vm = await desktop.must(['vm', 'create', 'talker', '--wait', 'ready', '--timeout', '120s'], {
    timeoutMs: WAIT_MS,
  })
  await desktop.must(['vm', 'stop', 'talker', '--force'], { timeoutMs: WAIT_MS })
  await desktop.must(['vm', 'wait', 'talker', '--state', 'stopped', '--timeout', '60s'], { timeoutMs: WAIT_MS })
  const log = (await host.must(['find', '/var/lib/eitri', '-name', 'serial.log'])).trim()
  return { id: vm.id, log: host.outside(log) }
}

/** console_throughput: a recorded log from the agent over SSH, broker and /console to the page's xterm. */
export async function benchConsole(say: (line: string) => void): Promise<BenchResult[]> {
  const host = await startSshHost({ name: 'talk1' })
  const desktop = new Desktop({ listen: '127.0.0.1:0' })
  const browser = await chromium.launch({
    executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--no-first-run', '--disable-background-networking'],
  })
  try {
    await desktop.start()
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 } })
    page.setDefaultTimeout(WAIT_MS)
    await page.addInitScript(fromTheStart)
    // the link is good for a minute only
    await page.goto(desktop.url)
    const { id, log } = await stoppedVm(desktop, host)
    const recorded = recordedLog()
    const block = Buffer.from(recorded.block)
    for (let n = 0; n < recorded.times; n++) appendFileSync(log, block)
    appendFileSync(log, recorded.last)
    const bytes = block.length * recorded.times + recorded.last.length
    await page.evaluate((vm) => location.assign(`#/vms/${vm}/console`), id)
    const ours = await page.evaluate(untilLastLine, LAST_LINE)
    say(`console: ${Math.round(bytes / 1e6)} MB over SSH in ${Math.round(ours)} ms`)
    const reference = await page.evaluate(straight, recorded)
    say(`console: straight into xterm in ${Math.round(reference)} ms`)
    const speed = (ms: number) => bytes / 1000 / ms
    const what = 'the same bytes written straight into the same xterm'
    return [result('console_throughput', 'MB/s', [speed(ours), { what, value: speed(reference) }], { atLeast: 0.5 })]
  } finally {
    await browser.close()
    await desktop.close()
    await host.close()
  }
}
