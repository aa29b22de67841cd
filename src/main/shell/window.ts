import { BrowserWindow, type Session, shell, type WebContents } from 'electron'
import { MIN_WINDOW, type restoredWindow, type WindowState } from './window-state.ts'

export const SCHEME = 'app'
export const ORIGIN = 'app://eitri'

/** Copying by a click is all a page may ask for. */
const ALLOWED = new Set(['clipboard-sanitized-write'])

export interface WindowOptions {
  preload: string
  icon: string | undefined
  /** Where it stood last. */
  place: ReturnType<typeof restoredWindow>
  /** Told when it moved or is about to close. */
  onPlace(state: WindowState): void
}

export function openWindow({ preload, icon, place, onPlace }: WindowOptions): BrowserWindow {
  const { maximized, ...bounds } = place
  const window = new BrowserWindow({
    ...bounds,
    minWidth: MIN_WINDOW.width,
    minHeight: MIN_WINDOW.height,
    title: 'Eitri',
    backgroundColor: '#101014',
    show: false,
    autoHideMenuBar: true,
    ...(icon === undefined ? {} : { icon }),
    webPreferences: { preload, sandbox: true, contextIsolation: true, nodeIntegration: false, webviewTag: false },
  })
  if (maximized) window.maximize()
  window.once('ready-to-show', () => window.show())
  window.on('close', () => onPlace({ ...window.getNormalBounds(), maximized: window.isMaximized() }))
  guard(window.webContents)
  void window.loadURL(`${ORIGIN}/`)
  return window
}

/** No page leaves ours, none opens another; an https link goes to the person's browser. */
function guard(contents: WebContents): void {
  contents.setWindowOpenHandler(({ url }) => {
    openOutside(url)
    return { action: 'deny' }
  })
  const stay = (event: { preventDefault(): void }, url: string) => {
    if (isOurs(url)) return
    event.preventDefault()
    openOutside(url)
  }
  contents.on('will-navigate', (event, url) => stay(event, url))
  contents.on('will-redirect', (event, url) => stay(event, url))
  contents.on('will-frame-navigate', (event) => stay(event, event.url))
  contents.on('will-attach-webview', (event) => event.preventDefault())
}

export function denyPermissions(session: Session): void {
  session.setPermissionRequestHandler((_, permission, answer, details) =>
    answer(ALLOWED.has(permission) && isOurs(details.requestingUrl)),
  )
  session.setPermissionCheckHandler((_, permission, origin) => ALLOWED.has(permission) && isOurs(`${origin}/`))
  session.setDevicePermissionHandler(() => false)
}

export function isOurs(url: string): boolean {
  if (!URL.canParse(url)) return false
  const { protocol, host } = new URL(url)
  return protocol === `${SCHEME}:` && host === 'eitri'
}

function openOutside(url: string): void {
  if (URL.canParse(url) && new URL(url).protocol === 'https:') void shell.openExternal(url)
}
