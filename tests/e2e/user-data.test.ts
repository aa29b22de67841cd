import { expect, type Page, test } from '@playwright/test'
import { FakeConsole } from '../support/fake-fleet/fake-console.ts'
import { FakeFleet } from '../support/fake-fleet/fake-fleet.ts'
import { busyScene } from '../support/fake-fleet/scenes.ts'
import { serveFake } from '../support/fake-fleet/serve-fake.ts'
import { AppPage } from './app-page.ts'

const BAD = '#cloud-config\nhostname: no\npackage: [nginx]\nruncmd:\n  - echo status: ok\n'

/** The text as it would be sent, from the draft the page keeps. */
const text = (page: Page) =>
  page.evaluate(() => JSON.parse(sessionStorage.getItem('eitri.create-draft') ?? '{}').draft?.cloudInit as string)
const selection = (page: Page) =>
  page.evaluate(() => getSelection()?.anchorNode?.parentElement?.closest('.cm-line')?.textContent)

async function write(page: Page, what: string): Promise<void> {
  await page.getByRole('textbox', { name: 'cloud-init user-data' }).click()
  await page.keyboard.press('Control+a')
  await page.keyboard.press('Delete')
  if (what !== '') await page.keyboard.insertText(what)
}

test('user-data is told what is wrong with it, mended on request, taken back by undo, and refused while it has an error', async ({
  page,
}) => {
  const served = await serveFake(new FakeFleet(busyScene(Date.now())), new FakeConsole(''))
  try {
    const app = new AppPage(page)
    await page.goto(`${served.url}/#/vms/new`)
    const create = page.getByRole('button', { name: 'Create', exact: true })
    const findings = page.getByRole('list', { name: 'Findings in the user-data' }).getByRole('listitem')
    await expect(create).toBeEnabled()

    await write(page, BAD)
    await expect(findings).toHaveText([/^Warning in line 2: /, /^Warning in line 3: /, /^Error in line 5: /])
    await expect(create).toBeDisabled()
    await expect(page.getByText(/^User-data: line 5: /)).toBeVisible()

    await page.getByRole('button', { name: 'Error in line 5' }).click()
    await expect(page.getByRole('textbox', { name: 'cloud-init user-data' })).toBeFocused()
    await expect.poll(() => selection(page)).toBe('  - echo status: ok')

    await page.getByRole('button', { name: /^Apply the fix in line 5/ }).click()
    await expect.poll(() => text(page)).toBe(BAD.replace('echo status: ok', "'echo status: ok'"))
    await expect(findings).toHaveCount(2)
    await expect(create).toBeEnabled()

    await page.getByRole('button', { name: 'Undo in the user-data' }).click()
    await expect.poll(() => text(page)).toBe(BAD)
    await expect(create).toBeDisabled()

    await write(page, '')
    await expect(findings).toHaveCount(0)
    await expect(create).toBeEnabled()
    expect(app.complaints).toEqual([])
  } finally {
    await served.close()
  }
})

test('the form of the user-data changes its own lines, a draft outlives a reload, and Esc then Tab leaves the editor', async ({
  page,
}) => {
  const served = await serveFake(new FakeFleet(busyScene(Date.now())), new FakeConsole(''))
  try {
    const app = new AppPage(page)
    await page.goto(`${served.url}/#/vms/new`)
    const before = '#cloud-config\n# Mine.\npackages:\n  - nginx   # from backports\n'
    await write(page, before)
    await page.getByRole('button', { name: 'Form', exact: true }).click()
    await page.getByRole('textbox', { name: 'Add a package' }).fill('git')
    await page.keyboard.press('Enter')
    await expect.poll(() => text(page)).toBe(`${before}  - git\n`)

    await page.reload()
    await page.getByRole('button', { name: 'Form', exact: true }).click()
    await expect(page.getByRole('textbox', { name: 'Packages 2' })).toHaveValue('git')

    await page.getByRole('button', { name: 'YAML', exact: true }).click()
    const editor = page.getByRole('textbox', { name: 'cloud-init user-data' })
    await editor.click()
    await page.keyboard.press('Tab')
    await expect(editor).toBeFocused()
    await page.keyboard.press('Escape')
    await page.keyboard.press('Tab')
    await expect(editor).not.toBeFocused()
    expect(app.complaints).toEqual([])
  } finally {
    await served.close()
  }
})
