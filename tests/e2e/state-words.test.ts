import { expect, type Page, test } from '@playwright/test'
import type { FleetState } from '../../src/ipc/gen/eitri/fleet/v1/fleet_pb.js'
import { hrefOf, type Route } from '../../src/renderer/routes.ts'
import { FakeConsole } from '../support/fake-fleet/fake-console.ts'
import { FakeFleet } from '../support/fake-fleet/fake-fleet.ts'
import { pressingScene } from '../support/fake-fleet/fleet-scene.ts'
import { serveFake } from '../support/fake-fleet/serve-fake.ts'
import { wholeScene } from '../support/fake-fleet/whole-scene.ts'
import { CERTIFICATE_WORD, CLOCK_WORD, HOST_WORD, VM_WORD } from '../support/state-words.ts'

test.setTimeout(60_000)

const SCENES: readonly ((now: number) => FleetState)[] = [wholeScene, pressingScene]

const TABLES: readonly { route: Route; columns: Record<string, RegExp> }[] = [
  { route: { page: 'hosts', filter: '' }, columns: { State: HOST_WORD, Clock: CLOCK_WORD } },
  { route: { page: 'vms', filter: '' }, columns: { State: VM_WORD, Clock: CLOCK_WORD } },
  { route: { page: 'clock', filter: '' }, columns: { Clock: CLOCK_WORD } },
  { route: { page: 'trust', tab: 'certificates' }, columns: { State: CERTIFICATE_WORD } },
]

/** The state words in a column of the table that is shown; undefined = it has no such column. */
const wordsIn = (page: Page, column: string) =>
  page.evaluate((name) => {
    const heads = [...document.querySelectorAll('main thead th')]
    const at = heads.findIndex((head) => head.textContent?.trim() === name)
    if (at < 0) return
    const rows = [...document.querySelectorAll<HTMLTableRowElement>('main tr[data-row]')]
    return rows.flatMap((row) =>
      [...row.cells[at]!.querySelectorAll('[title] > svg + span')].map((word) => word.textContent ?? ''),
    )
  }, column)

test('every state of a host, a VM, a clock and a certificate is told in the words there are for it', async ({
  browser,
}) => {
  const strange: string[] = []
  const seen = new Set<string>()
  for (const scene of SCENES) {
    const server = await serveFake(new FakeFleet(scene(Date.now())), new FakeConsole(''))
    const page = await browser.newPage({ viewport: { width: 1900, height: 1200 } })
    try {
      await page.goto(server.url)
      for (const { route, columns } of TABLES) {
        await page.goto(`${server.url}/${hrefOf(route)}`)
        await expect(page.locator('main tr[data-row]').first(), `${scene.name} ${hrefOf(route)}`).toBeVisible()
        for (const [column, words] of Object.entries(columns)) {
          const told = await wordsIn(page, column)
          expect(told, `${hrefOf(route)} has a column ${column}`).toBeDefined()
          for (const word of told ?? []) {
            seen.add(word.replace(/ [(\d].*| since .*| until .*/, ''))
            if (!words.test(word)) strange.push(`${scene.name} ${hrefOf(route)} ${column}: ${word}`)
          }
        }
      }
    } finally {
      await page.close()
      await server.close()
    }
  }
  expect(strange).toEqual([])
  // A look that found no words would find no strange ones.
  for (const word of ['Connected', 'Key changed', 'Running', 'Unknown', 'Unowned', 'Jumped', 'Not reported', 'Valid'])
    expect([...seen]).toContain(word)
})
