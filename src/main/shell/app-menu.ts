import type { MenuItemConstructorOptions } from 'electron'

/** Places the menu leads to, as addresses of the app. */
const PLACES = [
  ['Fleet', 'fleet'],
  ['Hosts', 'hosts'],
  ['VMs', 'vms'],
  ['Consoles', 'consoles'],
  ['Images', 'images'],
  ['Networks', 'networks'],
  ['Published ports', 'ports'],
  ['Trust', 'trust'],
  ['Clock', 'clock'],
  ['Activity', 'activity'],
] as const

export interface MenuActs {
  /** Brings a window to the front and the address into it. */
  open(address: string): void
  /** By so many steps; 0 = back to 100 %. */
  zoom(steps: number): void
  fullScreen(): void
  closeWindow(): void
  quit(): void
}

/**
 * The menu of the app. Off macOS no entry takes a key: Ctrl with a letter belongs to the guest of a console, and the roles
 * of Electron would take Ctrl+W, Ctrl+R and Ctrl+Q from it. On macOS ⌘ is ours, so entries have the keys people expect.
 */
export function appMenu(acts: MenuActs, platform: NodeJS.Platform): MenuItemConstructorOptions[] {
  const mac = platform === 'darwin'
  const key = (accelerator: string) => (mac ? { accelerator } : {})
  const to = (label: string, path: string): MenuItemConstructorOptions => ({
    label,
    click: () => acts.open(`eitri://${path}`),
  })
  const settings = { ...to('Settings…', 'settings'), ...key('Cmd+,') }
  const quit = { label: 'Quit Eitri (VMs go on)', click: acts.quit, ...key('Cmd+Q') }
  const separator = { type: 'separator' } as const
  const fleet: MenuItemConstructorOptions = {
    label: mac ? 'File' : '&Eitri',
    submenu: [
      to('Create VM…', 'vms/new'),
      to('Add host…', 'hosts/add'),
      separator,
      ...(mac ? [] : [settings, separator]),
      { label: 'Close window', click: acts.closeWindow, ...key('Cmd+Shift+W') },
      ...(mac ? [] : [quit]),
    ],
  }
  const edit: MenuItemConstructorOptions[] = mac ? [{ role: 'editMenu' }] : []
  const app: MenuItemConstructorOptions[] = mac
    ? [
        {
          label: 'Eitri',
          submenu: [{ role: 'about' }, separator, settings, separator, { role: 'hide' }, separator, quit],
        },
      ]
    : []
  const view: MenuItemConstructorOptions = {
    label: '&View',
    submenu: [
      { label: 'Larger', click: () => acts.zoom(1), ...key('Cmd+Plus') },
      { label: 'Smaller', click: () => acts.zoom(-1), ...key('Cmd+-') },
      { label: 'Actual size', click: () => acts.zoom(0), ...key('Cmd+0') },
      separator,
      { label: 'Full screen', click: acts.fullScreen, ...key('Ctrl+Cmd+F') },
    ],
  }
  const place: MenuItemConstructorOptions = { label: '&Go', submenu: PLACES.map(([label, path]) => to(label, path)) }
  const help: MenuItemConstructorOptions = {
    label: '&Help',
    submenu: [to('Keys', 'settings/keys'), to('Support bundle…', 'settings/support')],
  }
  return [...app, fleet, ...edit, view, place, help]
}

/** What the icon in the tray offers. */
export function trayMenu({ open, quit }: Pick<MenuActs, 'open' | 'quit'>): MenuItemConstructorOptions[] {
  return [
    { label: 'Open Eitri', click: () => open('') },
    { label: 'What needs you', click: () => open('eitri://fleet') },
    { label: 'Consoles', click: () => open('eitri://consoles') },
    { type: 'separator' },
    { label: 'Quit (VMs go on)', click: quit },
  ]
}
