import { expect, test } from '@playwright/test'
import { FakeConsole } from '../support/fake-fleet/fake-console.ts'
import { FakeFleet } from '../support/fake-fleet/fake-fleet.ts'
import { busyScene } from '../support/fake-fleet/scenes.ts'
import { serveFake } from '../support/fake-fleet/serve-fake.ts'
import { AppPage } from './app-page.ts'

const BAD = '#cloud-config\nhostname: no\npackage: [nginx]\nruncmd:\n  - echo status: ok\n'

test('user-data is told what is wrong with it, mended on request, taken back by undo, and refused while it has an error', async ({
  page,
}) => {
  const served = await serveFake(new FakeFleet(busyScene(Date.now())), new FakeConsole(''))
  try {
    const app = new AppPage(page)
    await page.goto(`${served.url}/#/vms/new`)
    const area = page.getByLabel('cloud-init user-data')
    const create = page.getByRole('button', { name: 'Create', exact: true })
    const findings = page.getByRole('list', { name: 'Findings in the user-data' }).getByRole('listitem')
    const selected = () =>
      area.evaluate((node: HTMLTextAreaElement) => node.value.slice(node.selectionStart, node.selectionEnd))
    await expect(create).toBeEnabled()

    await area.fill(BAD)
    await expect(findings).toHaveText([/^Warning in line 2: /, /^Warning in line 3: /, /^Error in line 5: /])
    await expect(area).toHaveAttribute('aria-invalid', 'true')
    await expect(create).toBeDisabled()
    await expect(page.getByText(/^User-data: line 5: /)).toBeVisible()

    await page.getByRole('button', { name: 'Error in line 5' }).click()
    await expect(area).toBeFocused()
    expect(await selected()).toBe('echo status: ok')
    await page.keyboard.press('F8')
    expect(await selected()).toBe('no')
    await page.keyboard.press('Shift+F8')
    expect(await selected()).toBe('echo status: ok')

    await page.getByRole('button', { name: /^Apply the fix in line 5/ }).click()
    const mended = BAD.replace('echo status: ok', "'echo status: ok'")
    await expect(area).toHaveValue(mended)
    await expect(findings).toHaveCount(2)
    await expect(create).toBeEnabled()
    await expect(area).not.toHaveAttribute('aria-invalid')

    await page.keyboard.press('Control+z')
    await page.keyboard.press('Control+z')
    await expect(area).toHaveValue(BAD)
    await expect(create).toBeDisabled()

    await area.fill('')
    await expect(findings).toHaveCount(0)
    await expect(create).toBeEnabled()
    expect(app.complaints).toEqual([])
  } finally {
    await served.close()
  }
})
