import { existsSync } from 'node:fs'
import { join } from 'node:path'
import {
  app,
  type BrowserWindow,
  dialog,
  type IpcMainEvent,
  ipcMain,
  Menu,
  Notification,
  powerMonitor,
  protocol,
  safeStorage,
  screen,
  session,
  Tray,
  utilityProcess,
} from 'electron'
import { DESKTOP_CHANNELS } from '../ipc/desktop-channel.ts'
import { appMenu, trayMenu } from './shell/app-menu.ts'
import { joinConsole } from './shell/console-ports.ts'
import { ControlProcess } from './shell/control-process.ts'
import { linkIn } from './shell/desktop-link.ts'
import { forwardToSocket } from './shell/forwarder.ts'
import { serveKeychain } from './shell/keychain.ts'
import { Notifier } from './shell/notifier.ts'
import { wakeHosts } from './shell/wake.ts'
import { denyPermissions, isOurs, openWindow, SCHEME } from './shell/window.ts'
import { keepWindow, restoredWindow } from './shell/window-state.ts'

const LINK_SCHEME = 'eitri'
const dist = join(import.meta.dirname, '..')
const iconFile = join(dist, 'assets', 'icons', 'icon.png')
const icon = existsSync(iconFile) ? iconFile : undefined

let window: BrowserWindow | undefined
/** The page takes addresses; until it says so the newest waits. */
let following = false
let waiting = linkIn(process.argv)
let tray: Tray | undefined
let quitting = false

const control = new ControlProcess({
  fork: () => {
    const given = process.argv.slice(app.isPackaged ? 1 : 2)
    const child = utilityProcess.fork(join(dist, 'main', 'serve.mjs'), ['--ready-json', ...dataDirOf(given)], {
      serviceName: 'Eitri control plane',
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    serveKeychain(child, safeStorage, process.platform)
    return child
  },
  onReady: () => show(),
  onFailed: (words) => {
    dialog.showErrorBox('Eitri could not start', words || 'The control plane ended without a word.')
    app.quit()
  },
})

const notifier = new Notifier({
  make: Notification.isSupported() ? (words) => new Notification(words) : undefined,
  open: show,
  now: Date.now,
})

/** Of our own arguments only the data folder concerns the control plane. */
function dataDirOf(args: string[]): string[] {
  const at = args.indexOf('--data-dir')
  const dir = args[at + 1]
  return at < 0 || dir === undefined ? [] : ['--data-dir', dir]
}

/** A window in front, at this address of the app; '' or none = where it is. */
function show(address = ''): void {
  if (address !== '') waiting = address
  if (quitting || control.socketPath === undefined) return
  window ??= opened()
  if (window.isMinimized()) window.restore()
  window.focus()
  hand()
}

function opened(): BrowserWindow {
  const file = join(app.getPath('userData'), 'window.json')
  const place = restoredWindow(
    file,
    screen.getAllDisplays().map(({ workArea }) => workArea),
  )
  const preload = join(dist, 'preload', 'preload.cjs')
  const made = openWindow({ preload, icon, place, onPlace: (state) => keepWindow(file, state) })
  made.webContents.on('did-start-loading', () => {
    following = false
  })
  made.on('closed', () => {
    window = undefined
    following = false
  })
  return made
}

function hand(): void {
  if (!window || !following || waiting === undefined) return
  window.webContents.send(DESKTOP_CHANNELS.address, waiting)
  waiting = undefined
}

/** Consoles read aloud by themselves where a screen reader runs. */
function tellReader(): void {
  if (following) window?.webContents.send(DESKTOP_CHANNELS.reader, app.accessibilitySupportEnabled)
}

const acts = {
  open: show,
  zoom(steps: number) {
    const contents = window?.webContents
    contents?.setZoomLevel(steps === 0 ? 0 : contents.getZoomLevel() + steps / 2)
  },
  fullScreen: () => window?.setFullScreen(!window.isFullScreen()),
  closeWindow: () => window?.close(),
  quit: () => app.quit(),
}

function showMenus(): void {
  Menu.setApplicationMenu(Menu.buildFromTemplate(appMenu(acts, process.platform)))
  if (icon === undefined) return
  tray = new Tray(icon)
  tray.setToolTip('Eitri')
  tray.setContextMenu(Menu.buildFromTemplate(trayMenu(acts)))
  tray.on('click', () => show())
}

/** Whether a message comes from the page of our own window itself. */
const isFromPage = ({ senderFrame }: Pick<IpcMainEvent, 'senderFrame'>): boolean =>
  senderFrame !== null && senderFrame.parent === null && isOurs(senderFrame.url)

function listen(): void {
  ipcMain.on('console-port', (event) => {
    const [port] = event.ports
    if (port && isFromPage(event) && control.socketPath !== undefined) joinConsole(port, control.socketPath)
    else port?.close()
  })
  ipcMain.on(DESKTOP_CHANNELS.notify, (event, notice: unknown) => {
    if (isFromPage(event)) notifier.notify(notice)
  })
  ipcMain.on(DESKTOP_CHANNELS.follow, (event) => {
    following = isFromPage(event)
    tellReader()
    hand()
  })
}

function start(): void {
  protocol.registerSchemesAsPrivileged([
    {
      scheme: SCHEME,
      privileges: { standard: true, secure: true, supportFetchAPI: true, stream: true, codeCache: true },
    },
  ])
  app.enableSandbox()
  // From a checkout the system would start Electron without the app.
  if (app.isPackaged) app.setAsDefaultProtocolClient(LINK_SCHEME)
  app.on('second-instance', (_, args) => show(linkIn(args)))
  app.on('open-url', (event, url) => {
    event.preventDefault()
    show(linkIn([url]))
  })
  app.on('activate', () => show())
  app.on('accessibility-support-changed', tellReader)
  // The control plane stays in the tray; only Quit ends it.
  app.on('window-all-closed', () => {})
  app.on('before-quit', (event) => {
    if (quitting) return
    quitting = true
    event.preventDefault()
    tray?.destroy()
    void control.stop().then(() => app.quit())
  })
  listen()
  void app.whenReady().then(() => {
    protocol.handle(SCHEME, (request) => {
      if (!isOurs(request.url)) return new Response('not found\n', { status: 404 })
      return control.socketPath === undefined
        ? new Response('The control plane does not run yet.\n', { status: 503 })
        : forwardToSocket(request, control.socketPath, () => control.lost())
    })
    denyPermissions(session.defaultSession)
    powerMonitor.on('resume', () => {
      window?.webContents.send(DESKTOP_CHANNELS.resume)
      if (control.socketPath !== undefined) void wakeHosts(control.socketPath).catch(() => {})
    })
    showMenus()
    control.start()
  })
}

if (app.requestSingleInstanceLock()) start()
else app.quit()
