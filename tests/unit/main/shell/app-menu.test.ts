import type { MenuItemConstructorOptions } from 'electron'
import { describe, expect, it } from 'vitest'
import { appMenu, trayMenu } from '../../../../src/main/shell/app-menu.ts'
import { DesktopAddress } from '../../../../src/main/shell/desktop-link.ts'
import { routeOfAddress } from '../../../../src/renderer/routes.ts'

const opened: string[] = []
const acts = { open: (to: string) => opened.push(to), zoom() {}, fullScreen() {}, closeWindow() {}, quit() {} }

function flat(items: MenuItemConstructorOptions[]): MenuItemConstructorOptions[] {
  return items.flatMap((item) => [item, ...(Array.isArray(item.submenu) ? flat(item.submenu) : [])])
}

describe('the menu of the app', () => {
  it.each(['linux', 'win32'] as const)('takes no key from the guest of a console on %s', (platform) => {
    for (const item of flat(appMenu(acts, platform))) {
      expect(item.accelerator).toBeUndefined()
      // A role brings the keys Electron gives it.
      expect(item.role).toBeUndefined()
    }
  })

  it('has on macOS the keys people expect, all with ⌘', () => {
    const keys = flat(appMenu(acts, 'darwin')).flatMap(({ accelerator }) => accelerator ?? [])
    expect(keys).toContain('Cmd+Q')
    for (const key of keys) expect(key).toContain('Cmd+')
  })

  it('leads to places that there are', () => {
    for (const item of [...flat(appMenu(acts, 'linux')), ...trayMenu(acts)]) {
      opened.length = 0
      if (item.label?.startsWith('Quit') || item.label === 'Open Eitri') continue
      item.click?.(undefined as never, undefined, undefined as never)
      for (const address of opened) {
        expect(DesktopAddress.safeParse(address).success).toBe(true)
        const route = routeOfAddress(address)
        expect([address, route?.page === 'fleet']).toEqual([address, address === 'eitri://fleet'])
      }
    }
  })
})
