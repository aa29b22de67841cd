import { BrowserWindow, type Session, shell, type WebContents } from 'electron'

export const SCHEME = 'app'
export const ORIGIN = 'app://eitri'

/** Copying by a click is all a page may ask for. */
const ALLOWED = new Set(['clipboard-sanitized-write'])

export function openWindow(preload: string, icon: string | undefined): BrowserWindow {
  const window = new BrowserWindow({
    width: 1280,
    height: 800,
    minWidth: 720,
    minHeight: 480,
    title: 'Eitri',
    backgroundColor: '#101014',
    show: false,
    autoHideMenuBar: true,
    ...(icon === undefined ? {} : { icon }),
    webPreferences: { preload, sandbox: true, contextIsolation: true, nodeIntegration: false, webviewTag: false },
  })
  window.once('ready-to-show', () => window.show())
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
