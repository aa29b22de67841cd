import { mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { buildApart } from './build.ts'
import { palettePng } from './palette-png.ts'
import { BROWSER_PARTS, ensureParts } from './parts.ts'
import { root } from './root.ts'

/** When every picture is taken: it changes only when its screen does. */
const NOW = Date.UTC(2026, 7, 14, 14, 2, 11)
const FOLDER = join(root, 'docs/screens')

/** Pictures of every screen, of a fleet that is not there, into `docs/screens`: `node scripts/screens.ts [NAME…]`. */
async function main(only: readonly string[]): Promise<void> {
  await ensureParts(BROWSER_PARTS)
  await buildApart(['renderer'])
  // scenes look at the clock as they are made, and some while they are imported
  const { Date: RealDate } = globalThis
  globalThis.Date = class extends RealDate {
    constructor(...given: unknown[]) {
      super(...((given.length === 0 ? [NOW] : given) as [number]))
    }
    static override now = () => NOW
  } as DateConstructor
  const { screenList } = await import('../tests/support/fake-fleet/screen-list.ts')
  const { takeScreens } = await import('../tests/support/fake-fleet/take-screens.ts')
  const all = screenList(NOW)
  const screens = all.filter(({ name }) => only.length === 0 || only.some((start) => name.startsWith(start)))
  await mkdir(FOLDER, { recursive: true })
  if (only.length === 0)
    for (const file of await readdir(FOLDER)) if (file.endsWith('.png')) await rm(join(FOLDER, file))
  const wrong = await takeScreens(screens, { folder: FOLDER, now: NOW, pack: palettePng })
  await writeFile(join(FOLDER, 'README.md'), index(all))
  for (const text of wrong) console.error(text)
  console.log(`${screens.length * 2} pictures in docs/screens`)
  if (wrong.length > 0) process.exitCode = 1
}

function index(screens: readonly { name: string; says: string }[]): string {
  const rows = screens.map(
    ({ name, says }) =>
      `| ${name}${says === '' ? '' : `: ${says}`} | [light](${name}-light.png) | [dark](${name}-dark.png) |`,
  )
  return `# Screens

Every screen at 1280 × 800 pixels, of a fleet that is made up. \`npm run -s screens\` takes them anew, at a clock that stands
still: a picture changes only when its screen does.

| screen | | |
|---|---|---|
${rows.join('\n')}
`
}

await main(process.argv.slice(2))
