import { EventEmitter } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'

const fake = vi.hoisted(() => ({ current: undefined as unknown as FakeElectron }))

class FakeWindow extends EventEmitter {
  readonly webContents = Object.assign(new EventEmitter(), {
    opened: (_: { url: string }): unknown => undefined,
    setWindowOpenHandler(handler: (details: { url: string }) => unknown) {
      this.opened = handler
    },
    sent: [] as unknown[][],
    send(...message: unknown[]) {
      this.sent.push(message)
    },
    level: 0,
    getZoomLevel(): number {
      return this.level
    },
    setZoomLevel(level: number) {
      this.level = level
    },
  })
  readonly loaded: string[] = []
  readonly options: any
  constructor(options: unknown) {
    super()
    this.options = options
    fake.current.windows.push(this)
  }
  loadURL(url: string) {
    this.loaded.push(url)
    return Promise.resolve()
  }
  show() {}
  focus() {
    fake.current.focused++
  }
  restore() {}
  isMinimized = () => false
  isMaximized = () => false
  maximize() {}
  getNormalBounds = () => ({ x: 10, y: 20, width: 1000, height: 700 })
  close() {
    this.emit('close')
    this.emit('closed')
  }
}

class FakeNotification extends EventEmitter {
  static isSupported = () => true
  readonly words: { title: string; body: string }
  constructor(words: { title: string; body: string }) {
    super()
    this.words = words
    fake.current.notifications.push(this)
  }
  show() {}
  close() {}
}

class FakeElectron {
  windows: FakeWindow[] = []
  focused = 0
  schemes: any[] = []
  handler!: (request: Request) => Promise<Response>
  forks: { file: string; args: string[]; child: any }[] = []
  outside: string[] = []
  permissions: Record<string, (...args: any[]) => any> = {}
  ipc = new EventEmitter()
  power = new EventEmitter()
  notifications: FakeNotification[] = []
  menus: any[][] = []
  schemesTaken: string[] = []
  userData = ''
  quits = 0
  sandboxed = 0
  app = Object.assign(new EventEmitter(), {
    isPackaged: true,
    accessibilitySupportEnabled: false,
    enableSandbox: () => this.sandboxed++,
    requestSingleInstanceLock: () => true,
    whenReady: () => Promise.resolve(),
    quit: () => this.quits++,
    getPath: () => this.userData,
    setAsDefaultProtocolClient: (scheme: string) => this.schemesTaken.push(scheme),
  })
}

vi.mock('electron', () => {
  const e = new FakeElectron()
  fake.current = e
  return {
    app: e.app,
    BrowserWindow: FakeWindow,
    dialog: { showErrorBox: vi.fn() },
    ipcMain: e.ipc,
    Menu: { buildFromTemplate: (items: unknown) => items, setApplicationMenu: (menu: any[]) => e.menus.push(menu) },
    Notification: FakeNotification,
    screen: { getAllDisplays: () => [{ workArea: { x: 0, y: 0, width: 1920, height: 1080 } }] },
    powerMonitor: e.power,
    protocol: {
      registerSchemesAsPrivileged: (schemes: unknown[]) => e.schemes.push(...schemes),
      handle: (_: string, handler: FakeElectron['handler']) => {
        e.handler = handler
      },
    },
    safeStorage: {
      isAsyncEncryptionAvailable: async () => true,
      getSelectedStorageBackend: () => 'gnome_libsecret',
      encryptStringAsync: async (text: string) => Buffer.from(`sealed ${text}`),
      decryptStringAsync: async (sealed: Buffer) => ({ result: String(sealed).replace('sealed ', '') }),
    },
    session: {
      defaultSession: {
        setPermissionRequestHandler: (fn: any) => {
          e.permissions['request'] = fn
        },
        setPermissionCheckHandler: (fn: any) => {
          e.permissions['check'] = fn
        },
        setDevicePermissionHandler: (fn: any) => {
          e.permissions['device'] = fn
        },
      },
    },
    shell: { openExternal: (url: string) => Promise.resolve(e.outside.push(url)) },
    Tray: class extends EventEmitter {
      setToolTip() {}
      setContextMenu() {}
      destroy() {}
    },
    utilityProcess: {
      fork: (file: string, args: string[]) => {
        const child = Object.assign(new EventEmitter(), {
          stdout: new PassThrough(),
          stderr: new PassThrough(),
          posted: [] as unknown[],
          postMessage: (message: unknown) => child.posted.push(message),
          kill: () => queueMicrotask(() => child.emit('exit', 0)),
        })
        e.forks.push({ file, args, child })
        return child
      },
    },
  }
})

const PAGE = { url: 'app://eitri/', parent: null }

let dir: string
let server: http.Server
const calls: string[] = []
let electron: FakeElectron

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'eitri-app-'))
  server = http.createServer((req, res) => {
    calls.push(`${req.method} ${req.url}`)
    res.end('from the socket')
  })
  await new Promise<void>((resolve) => server.listen(join(dir, 's'), resolve))
  process.argv.push('--data-dir', '/somewhere', 'eitri://vms/abc')
  await import('../../../src/main/index.ts')
  electron = fake.current
  electron.userData = dir
  await vi.waitFor(() => expect(electron.forks).toHaveLength(1))
})

afterAll(async () => {
  process.argv.splice(-3)
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
  await rm(dir, { recursive: true, force: true })
})

describe('the desktop app', () => {
  it('forks the control plane on the data folder it was given, and shows nothing before it is ready', async () => {
    expect(electron.forks[0]?.file).toMatch(/main\/serve\.mjs$/)
    expect(electron.forks[0]?.args).toEqual(['--ready-json', '--data-dir', '/somewhere'])
    expect(electron.windows).toEqual([])
    expect((await electron.handler(new Request('app://eitri/'))).status).toBe(503)
    const line = { ready: true, attached: false, pid: 1, api_socket: join(dir, 's') }
    electron.forks[0]?.child.stdout.write(`${JSON.stringify(line)}\n`)
    await vi.waitFor(() => expect(electron.windows).toHaveLength(1))
    expect(electron.windows[0]?.loaded).toEqual(['app://eitri/'])
  })

  it('sandboxes its window and gives it no Node', () => {
    expect(electron.sandboxed).toBe(1)
    expect(electron.windows[0]?.options.webPreferences).toMatchObject({
      sandbox: true,
      contextIsolation: true,
      nodeIntegration: false,
      webviewTag: false,
    })
    expect(electron.schemes[0]).toMatchObject({ scheme: 'app', privileges: { standard: true, secure: true } })
  })

  it('answers its own pages from the socket and nothing else', async () => {
    const ours = await electron.handler(new Request('app://eitri/vms?x=1'))
    expect(await ours.text()).toBe('from the socket')
    expect(ours.headers.get('content-security-policy')).toContain("default-src 'none'")
    expect(calls).toContain('GET /vms?x=1')
    expect((await electron.handler(new Request('app://other/vms'))).status).toBe(404)
  })

  it('opens https links outside and lets no page go or open anywhere', () => {
    const contents = electron.windows[0]!.webContents
    for (const url of ['https://example.org/', 'http://example.org/', 'file:///etc/passwd', 'javascript:alert(1)'])
      expect(contents.opened({ url })).toEqual({ action: 'deny' })
    expect(electron.outside).toEqual(['https://example.org/'])
    const stopped = (url: string) => {
      let prevented = false
      contents.emit('will-navigate', { preventDefault: () => (prevented = true) }, url)
      return prevented
    }
    expect([stopped('app://eitri/hosts'), stopped('app://other/'), stopped('http://127.0.0.1/')]).toEqual([
      false,
      true,
      true,
    ])
  })

  it('grants no permission but copying, and that to its own pages', () => {
    const ask = (permission: string, requestingUrl: string) => {
      let granted: boolean | undefined
      electron.permissions['request']!(null, permission, (answer: boolean) => (granted = answer), { requestingUrl })
      return granted
    }
    expect(ask('clipboard-sanitized-write', 'app://eitri/')).toBe(true)
    expect(ask('clipboard-sanitized-write', 'https://example.org/')).toBe(false)
    for (const permission of ['media', 'geolocation', 'notifications', 'clipboard-read', 'openExternal'])
      expect(ask(permission, 'app://eitri/')).toBe(false)
    expect(electron.permissions['check']!(null, 'usb', 'app://eitri')).toBe(false)
    expect(electron.permissions['device']!()).toBe(false)
  })

  it('takes console ports only from its own pages', () => {
    const port = { close: vi.fn(), on: vi.fn(), start: vi.fn(), postMessage: vi.fn() }
    for (const senderFrame of [{ url: 'https://example.org/', parent: null }, { ...PAGE, parent: {} }, null])
      electron.ipc.emit('console-port', { senderFrame, ports: [port] })
    expect(port.close).toHaveBeenCalledTimes(3)
  })

  it('is what the system opens its links with', () => {
    expect(electron.schemesTaken).toEqual(['eitri'])
  })

  it('hands the link it was started with to the page once that takes it, and no other page', () => {
    const { sent } = electron.windows[0]!.webContents
    electron.ipc.emit('follow', { senderFrame: { url: 'https://example.org/', parent: null } })
    expect(sent).toEqual([])
    electron.ipc.emit('follow', { senderFrame: PAGE })
    expect(sent.at(-1)).toEqual(['address', 'eitri://vms/abc'])
  })

  it('opens the link of a second start, and ignores what is no link of ours', () => {
    const { sent } = electron.windows[0]!.webContents
    sent.length = 0
    electron.app.emit('second-instance', {}, ['/usr/bin/eitri', '--flag', 'eitri://host/1/vm/2/console'])
    electron.app.emit('second-instance', {}, ['/usr/bin/eitri', 'eitri://x"><script>', 'javascript:alert(1)'])
    expect(sent).toEqual([['address', 'eitri://host/1/vm/2/console']])
  })

  it('shows the notices of its page alone, and a click on one opens its object', () => {
    const notice = { id: 'crash:1', title: 'web-1 crashed', body: 'on rack1', address: 'eitri://vm/1' }
    electron.ipc.emit('notify', { senderFrame: { url: 'https://example.org/', parent: null } }, notice)
    electron.ipc.emit('notify', { senderFrame: PAGE }, { ...notice, address: 'https://example.org/' })
    expect(electron.notifications).toEqual([])
    electron.ipc.emit('notify', { senderFrame: PAGE }, notice)
    expect(electron.notifications.map(({ words }) => words)).toEqual([{ title: 'web-1 crashed', body: 'on rack1' }])
    const { sent } = electron.windows[0]!.webContents
    sent.length = 0
    electron.notifications[0]!.emit('click')
    expect(sent).toEqual([['address', 'eitri://vm/1']])
  })

  it('has a menu that leads to every page', () => {
    const { sent } = electron.windows[0]!.webContents
    sent.length = 0
    const items = electron.menus[0]!.flatMap(({ submenu }) => submenu)
    for (const label of ['Fleet', 'Consoles', 'Trust', 'Create VM…']) items.find((i) => i.label === label).click()
    expect(sent.map(([, address]) => address)).toEqual([
      'eitri://fleet',
      'eitri://consoles',
      'eitri://trust',
      'eitri://vms/new',
    ])
  })

  it('tells the page whether a screen reader runs, when it follows and at each change', () => {
    const { sent } = electron.windows[0]!.webContents
    const page = { senderFrame: { parent: null, url: 'app://eitri/' } }
    sent.length = 0
    electron.ipc.emit('follow', page)
    expect(sent).toContainEqual(['reader', false])
    electron.app.accessibilitySupportEnabled = true
    electron.app.emit('accessibility-support-changed', {}, true)
    expect(sent.at(-1)).toEqual(['reader', true])
    electron.ipc.emit('follow', { senderFrame: { parent: null, url: 'https://elsewhere.test/' } })
    expect(sent).toHaveLength(2)
    electron.ipc.emit('follow', page)
  })

  it('dials hosts when the computer wakes, and tells the page', async () => {
    electron.power.emit('resume')
    expect(electron.windows[0]!.webContents.sent).toContainEqual(['resume'])
    await vi.waitFor(() => expect(calls).toContain('POST /eitri.fleet.v1.TenantService/ListTenants'))
  })

  it('seals for the control plane with the keychain of this computer', async () => {
    const { child } = electron.forks[0]!
    child.emit('message', { keychain: 'seal', id: 7, data: 'c2VjcmV0' })
    const data = Buffer.from('sealed c2VjcmV0').toString('base64')
    await vi.waitFor(() => expect(child.posted).toEqual([{ keychain: 'answer', id: 7, data }]))
  })

  it('stays when its window is closed, and shows another when it is started again', () => {
    electron.windows[0]!.close()
    electron.app.emit('window-all-closed')
    expect(electron.quits).toBe(0)
    electron.app.emit('second-instance', {}, [])
    expect(electron.windows).toHaveLength(2)
  })

  it('opens a window where the last one was', () => {
    expect(electron.windows[0]!.options).toMatchObject({ width: 1280, height: 800 })
    expect(electron.windows[1]!.options).toMatchObject({ x: 10, y: 20, width: 1000, height: 700 })
  })

  it('stops the control plane before it quits', async () => {
    let held = false
    electron.app.emit('before-quit', { preventDefault: () => (held = true) })
    expect(held).toBe(true)
    await vi.waitFor(() => expect(electron.quits).toBe(1))
    expect(electron.forks).toHaveLength(1)
  })
})
