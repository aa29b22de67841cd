import { expect, type Page } from '@playwright/test'

/** xterm as the console screen puts it on its DOM node. */
interface TerminalNode extends Element {
  eitriTerminal: {
    buffer: { active: { length: number; getLine(y: number): { translateToString(trim: boolean): string } } }
  }
}

/** The app in a browser window: what it complains about is kept. */
export class AppPage {
  readonly page: Page
  /** Console errors, uncaught exceptions and failed loads. */
  readonly complaints: string[] = []

  constructor(page: Page) {
    this.page = page
    page.on('console', (message) => {
      if (message.type() === 'error') this.complaints.push(message.text())
    })
    page.on('pageerror', (error) => this.complaints.push(String(error)))
    page.on('requestfailed', (request) => {
      const reason = request.failure()?.errorText ?? ''
      if (reason !== 'net::ERR_ABORTED') this.complaints.push(`${request.url().split('?')[0]}: ${reason}`)
    })
  }

  button(name: string | RegExp, exact = false) {
    return this.page.getByRole('button', { name, exact })
  }

  /** A state word in the head of the page. */
  state(word: string) {
    return this.page.locator('header').getByText(word, { exact: true })
  }

  link(name: string | RegExp) {
    return this.page.getByRole('link', { name })
  }

  /** Goes to a place of the rail. */
  async go(place: string) {
    const rail = this.page.getByRole('navigation', { name: 'Main' })
    await rail.getByRole('link', { name: new RegExp(`^${place}(,|$)`) }).click()
  }

  /** The console of a VM with its head and its text. */
  console(vm: string) {
    return this.page.getByRole('region', { name: `Console of ${vm}`, exact: true })
  }

  sheet(title: string | RegExp) {
    return this.page.getByRole('dialog', { name: title })
  }

  /** One act of a VM's menu, wherever its row or header is shown. */
  async act(vm: string, name: string | RegExp) {
    await this.button(`Actions for ${vm}`).click()
    await this.page.getByRole('menuitem', { name }).click()
  }

  /** The row of a table that names something. */
  row(name: string) {
    return this.page.getByRole('row').filter({ hasText: name })
  }

  /** Everything in the terminal's buffer, scrollback included. */
  terminalText(): Promise<string> {
    return this.page.evaluate(() => {
      const node = [...document.querySelectorAll('*')].find((e) => 'eitriTerminal' in e) as TerminalNode | undefined
      const buffer = node?.eitriTerminal.buffer.active
      if (!buffer) return ''
      return Array.from({ length: buffer.length }, (_, y) => buffer.getLine(y).translateToString(true)).join('\n')
    })
  }

  async seeInTerminal(pattern: RegExp, timeout = 60_000) {
    await expect.poll(() => this.terminalText(), { timeout }).toMatch(pattern)
  }

  /** Types as a person does: into whatever has the focus after a click on the terminal. */
  async typeInTerminal(line: string) {
    await this.page.locator('.xterm').first().click()
    await this.page.keyboard.type(line)
    await this.page.keyboard.press('Enter')
  }
}
