import { existsSync } from 'node:fs'
import { join } from 'node:path'
import {
  app,
  type BrowserWindow,
  dialog,
  ipcMain,
  Menu,
  powerMonitor,
  protocol,
  safeStorage,
  session,
  Tray,
  utilityProcess,
} from 'electron'
import { joinConsole } from './shell/console-ports.ts'
import { ControlProcess } from './shell/control-process.ts'
import { forwardToSocket } from './shell/forwarder.ts'
import { serveKeychain } from './shell/keychain.ts'
import { wakeHosts } from './shell/wake.ts'
import { denyPermissions, isOurs, openWindow, SCHEME } from './shell/window.ts'

const dist = join(import.meta.dirname, '..')
const iconFile = join(dist, 'assets', 'icons', 'icon.png')
const icon = existsSync(iconFile) ? iconFile : undefined

let window: BrowserWindow | undefined
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

/** Of our own arguments only the data folder concerns the control plane. */
function dataDirOf(args: string[]): string[] {
  const at = args.indexOf('--data-dir')
  const dir = args[at + 1]
  return at < 0 || dir === undefined ? [] : ['--data-dir', dir]
}

function show(): void {
  if (quitting || control.socketPath === undefined) return
  if (!window) {
    window = openWindow(join(dist, 'preload', 'preload.cjs'), icon)
    window.on('closed', () => {
      window = undefined
    })
  }
  if (window.isMinimized()) window.restore()
  window.focus()
}

function showTray(): void {
  if (icon === undefined) return
  tray = new Tray(icon)
  tray.setToolTip('Eitri')
  tray.setContextMenu(
    Menu.buildFromTemplate([
      { label: 'Open Eitri', click: show },
      { type: 'separator' },
      { label: 'Quit (VMs go on)', click: () => app.quit() },
    ]),
  )
  tray.on('click', show)
}

function start(): void {
  protocol.registerSchemesAsPrivileged([
    {
      scheme: SCHEME,
      privileges: { standard: true, secure: true, supportFetchAPI: true, stream: true, codeCache: true },
    },
  ])
  app.enableSandbox()
  app.on('second-instance', show)
  app.on('activate', show)
  // The control plane stays in the tray; only Quit ends it.
  app.on('window-all-closed', () => {})
  app.on('before-quit', (event) => {
    if (quitting) return
    quitting = true
    event.preventDefault()
    tray?.destroy()
    void control.stop().then(() => app.quit())
  })
  ipcMain.on('console-port', ({ senderFrame, ports: [port] }) => {
    if (port && senderFrame && isOurs(senderFrame.url) && control.socketPath !== undefined)
      joinConsole(port, control.socketPath)
    else port?.close()
  })
  void app.whenReady().then(() => {
    protocol.handle(SCHEME, (request) => {
      if (!isOurs(request.url)) return new Response('not found\n', { status: 404 })
      return control.socketPath === undefined
        ? new Response('The control plane does not run yet.\n', { status: 503 })
        : forwardToSocket(request, control.socketPath, () => control.lost())
    })
    denyPermissions(session.defaultSession)
    powerMonitor.on('resume', () => {
      if (control.socketPath !== undefined) void wakeHosts(control.socketPath).catch(() => {})
    })
    showTray()
    control.start()
  })
}

if (app.requestSingleInstanceLock()) start()
else app.quit()
