import { setTimeout as delay } from 'node:timers/promises'
import { type Browser, type CDPSession, chromium, type Page } from 'playwright-core'
import { bigChanges, bigScene } from '../support/fake-fleet/big-scene.ts'
import { FakeConsole } from '../support/fake-fleet/fake-console.ts'
import { FakeFleet } from '../support/fake-fleet/fake-fleet.ts'
import { serveFake } from '../support/fake-fleet/serve-fake.ts'
import { type BenchResult, quantile, result } from './measure.ts'

const SIZE = { hosts: 200, vms: 50 }
const UPDATES_PER_S = 100
const TICK_MS = 20
const SCROLLED_MS = 6000
const STEP_PX = 120
const READY_MS = 60_000
const FILTERS = ['web-1', 'state:running', 'rack3', '-app=web db', 'host:rack1-07 ci', 'stopped']
const SORTED = ['State', 'Name', 'Host', 'CPU', 'Memory', 'Name', 'State', 'Host']
const OPENINGS = 12
/** Ten minutes say whether it grows, once each VM was changed twice; a short run only whether it grows without bound. */
const HEAP = {
  long: { warmUpMs: 240_000, measuredMs: 600_000, sampleMs: 15_000, mbPerH: 1 },
  short: { warmUpMs: 220_000, measuredMs: 60_000, sampleMs: 10_000, mbPerH: 30 },
}
/** Until what was told is drawn and what is done while idle is done. */
const PAUSE_MS = 2000
const MB = 1 << 20

/** rows_10000_*: the VM table over 10,000 rows at 100 changes a second, in a real browser. */
export async function benchRows(say: (line: string) => void, long: boolean): Promise<BenchResult[]> {
  const browser = await chromium.launch({
    executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-sync'],
  })
  const fleet = new FakeFleet(bigScene(SIZE, Date.now()))
  const served = await serveFake(fleet, new FakeConsole(''))
  const changes = new Changes(fleet)
  changes.go()
  try {
    return await measured(browser, `${served.url}/#/vms`, { say, long, changes })
  } finally {
    changes.pause()
    await browser.close()
    await served.close()
  }
}

/** Tells so many changes a second, save while it pauses. */
class Changes {
  readonly #changes
  #timer: NodeJS.Timeout | undefined

  constructor(fleet: FakeFleet) {
    this.#changes = bigChanges(fleet)
  }

  go(): void {
    const began = performance.now()
    let told = 0
    this.#timer = setInterval(() => {
      const due = ((performance.now() - began) * UPDATES_PER_S) / 1000
      while (told++ < due) this.#changes.next()
    }, TICK_MS)
  }

  pause(): void {
    clearInterval(this.#timer)
  }
}

async function measured(
  browser: Browser,
  url: string,
  { say, long, changes }: { say: (line: string) => void; long: boolean; changes: Changes },
): Promise<BenchResult[]> {
  const blank = await newPage(browser, 'data:text/html,<input aria-label="Filter">')
  const still = await framesPerSecond(blank, false)
  const key = quantile(await keysToPaint(blank, 'Filter', FILTERS), 0.95)
  await blank.close()

  const page = await newPage(browser, url)
  const errors: string[] = []
  page.on('pageerror', (error) => errors.push(String(error)))
  await page.locator('[data-row]').nth(10).waitFor({ timeout: READY_MS })
  await delay(3000)
  const fps = await framesPerSecond(page, true)
  say(`rows: ${fps.toFixed(1)} frames a second scrolled through, ${still.toFixed(1)} of a page that stands still`)
  const filtered = await keysToPaint(page, 'Filter', FILTERS)
  say(`rows: a key of the filter to paint: ${inWords(filtered)}`)
  const sorted = await clicksToPaint(page)
  say(`rows: a click that sorts to paint: ${inWords(sorted)}`)
  const opened = await openings(page)
  say(`rows: the palette opens: ${inWords(opened.open)}; its answer to a key: ${inWords(opened.keys)}`)
  const heap = await heapSlope(page, { ...(long ? HEAP.long : HEAP.short), changes, say })
  if (errors.length > 0) throw new Error(`the page complained: ${errors[0]}`)
  const still60 = { what: 'frames of a page that stands still', value: still }
  const bareKey = { what: 'a key in an empty page, p95', value: key }
  const p95 = (values: number[]) => quantile(values, 0.95)
  return [
    result('rows_10000_scroll_fps', 'frames/s', [fps, still60], { atLeast: 55 / 60 }),
    result('rows_10000_filter', 'ms', [p95(filtered), bareKey], { valueAtMost: 50 }),
    result('rows_10000_sort', 'ms', [p95(sorted), bareKey], { valueAtMost: 50 }),
    result('rows_10000_palette', 'ms', [p95(opened.open), bareKey], { valueAtMost: 100 }),
    result('rows_10000_heap', 'MB/h', [heap.slope, { what: 'MB in use after warm-up', value: heap.start }], {
      valueAtMost: (long ? HEAP.long : HEAP.short).mbPerH,
    }),
  ]
}

const inWords = (values: number[]): string =>
  `${quantile(values, 0.5).toFixed(0)} ms, p95 ${quantile(values, 0.95).toFixed(0)} ms of ${values.length}`

async function newPage(browser: Browser, url: string): Promise<Page> {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } })
  page.setDefaultTimeout(READY_MS)
  // From an event to the end of the frame that shows what it did.
  await page.addInitScript(() => {
    const times: number[] = []
    Object.assign(window, { eventToPaint: times })
    const ends = new MessageChannel()
    const begun: number[] = []
    ends.port1.onmessage = () => {
      const now = performance.now()
      for (const at of begun.splice(0)) times.push(now - at)
    }
    const seen = (event: Event) => {
      const at = event.timeStamp
      requestAnimationFrame(() => {
        begun.push(at)
        ends.port2.postMessage(undefined)
      })
    }
    addEventListener('keydown', seen, { capture: true })
    addEventListener('click', seen, { capture: true })
  })
  await page.goto(url)
  return page
}

/** Frames a second while the table is scrolled at some 180 rows a second, down and up, or while nothing is done. */
const framesPerSecond = (page: Page, scrolled: boolean): Promise<number> =>
  page.evaluate(
    ({ ms, px, moves }) =>
      new Promise<number>((resolve) => {
        const scroller = document.querySelector('[data-row]')?.closest('div')
        let frames = 0
        let way = px
        const began = performance.now()
        const frame = () => {
          frames++
          if (moves && scroller) {
            if (scroller.scrollTop + scroller.clientHeight >= scroller.scrollHeight - px) way = -px
            if (scroller.scrollTop < px) way = px
            scroller.scrollTop += way
          }
          const took = performance.now() - began
          if (took < ms) requestAnimationFrame(frame)
          else resolve((1000 * frames) / took)
        }
        requestAnimationFrame(frame)
      }),
    { ms: SCROLLED_MS, px: STEP_PX, moves: scrolled },
  )

/** What the page measured since the last asking, once so many are there. */
async function takeTimes(page: Page, count: number): Promise<number[]> {
  await page.waitForFunction((n) => (window as unknown as { eventToPaint: number[] }).eventToPaint.length >= n, count)
  return await page.evaluate(() => (window as unknown as { eventToPaint: number[] }).eventToPaint.splice(0))
}

async function keysToPaint(page: Page, label: string, texts: readonly string[]): Promise<number[]> {
  const times: number[] = []
  const box = page.getByLabel(label, { exact: true })
  for (const text of texts) {
    await box.fill('')
    await page.evaluate(() => (window as unknown as { eventToPaint: number[] }).eventToPaint.splice(0))
    await box.focus()
    for (const letter of text) {
      await page.keyboard.press(letter === ' ' ? 'Space' : letter)
      times.push(...(await takeTimes(page, 1)))
    }
  }
  await box.fill('')
  return times
}

async function clicksToPaint(page: Page): Promise<number[]> {
  const times: number[] = []
  await page.evaluate(() => (window as unknown as { eventToPaint: number[] }).eventToPaint.splice(0))
  for (const name of [...SORTED, ...SORTED]) {
    await page.getByRole('columnheader', { name, exact: true }).getByRole('button').first().click()
    times.push(...(await takeTimes(page, 1)))
  }
  return times
}

async function openings(page: Page): Promise<{ open: number[]; keys: number[] }> {
  const open: number[] = []
  const keys: number[] = []
  for (let n = 0; n < OPENINGS; n++) {
    await page.evaluate(() => (window as unknown as { eventToPaint: number[] }).eventToPaint.splice(0))
    await page.keyboard.press('Control+k')
    // The modifier is a key of its own.
    open.push(...(await takeTimes(page, 2)).slice(-1))
    await page.getByPlaceholder('Go to, find, do').waitFor()
    for (const letter of `web-${n}`) {
      await page.keyboard.press(letter)
      keys.push(...(await takeTimes(page, 1)))
    }
    await page.keyboard.press('Escape')
    await page.keyboard.press('Escape')
    await page.getByPlaceholder('Go to, find, do').waitFor({ state: 'detached' })
  }
  return { open, keys }
}

/** MB an hour the heap in use grows by, by the line that fits all samples best. Each is taken in a pause, so that nothing is under way. */
async function heapSlope(
  page: Page,
  {
    warmUpMs,
    measuredMs,
    sampleMs,
    changes,
    say,
  }: typeof HEAP.long & { changes: Changes; say: (line: string) => void },
) {
  const session = await page.context().newCDPSession(page)
  await session.send('HeapProfiler.enable')
  await delay(warmUpMs)
  const samples: { h: number; mb: number }[] = []
  const began = performance.now()
  for (let at = 0; at <= measuredMs; at += sampleMs) {
    await delay(Math.max(0, began + at - performance.now()))
    changes.pause()
    await delay(PAUSE_MS)
    samples.push({ h: (performance.now() - began) / 3_600_000, mb: await usedMb(session) })
    changes.go()
  }
  const slope = slopeOf(samples)
  const [first, last] = [samples[0]!.mb, samples.at(-1)!.mb]
  say(`rows: heap ${first.toFixed(2)} MB, ${last.toFixed(2)} MB after ${measuredMs / 1000} s: ${slope.toFixed(2)} MB/h`)
  return { slope, start: first }
}

async function usedMb(session: CDPSession): Promise<number> {
  await session.send('HeapProfiler.collectGarbage')
  return (await session.send('Runtime.getHeapUsage')).usedSize / MB
}

function slopeOf(samples: readonly { h: number; mb: number }[]): number {
  const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
  const [h, mb] = [mean(samples.map((one) => one.h)), mean(samples.map((one) => one.mb))]
  const over = samples.reduce((sum, one) => sum + (one.h - h) * (one.mb - mb), 0)
  return over / samples.reduce((sum, one) => sum + (one.h - h) ** 2, 0)
}
