import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { CONTENT_POLICY } from '../../../src/ipc/content-policy.ts'

const ROOT = join(import.meta.dirname, '../../..')
const SHELL = join(ROOT, 'src/main/shell')
const text = (...path: string[]) => readFileSync(join(ROOT, ...path), 'utf8')
const shell = [
  text('src/main/index.ts'),
  ...readdirSync(SHELL).map((name) => readFileSync(join(SHELL, name), 'utf8')),
].join('\n')
const builder = parse(text('electron-builder.yml'))

// The checklist of Electron's own manual; what needs the running shell is in index.test.ts.
describe('the desktop shell', () => {
  it('loads only its own pages, never a server’s', () => {
    expect([...shell.matchAll(/loadURL\(([^)]*)\)/g)].map(([, url]) => url)).toEqual([
      expect.stringContaining('ORIGIN'),
    ])
    expect(shell).not.toMatch(/loadFile\(|file:\/\//)
  })

  it('turns no protection of Electron or Chromium off', () => {
    for (const word of [
      'nodeIntegration: true',
      'nodeIntegrationInWorker',
      'nodeIntegrationInSubFrames',
      'contextIsolation: false',
      'sandbox: false',
      'webSecurity',
      'allowRunningInsecureContent',
      'experimentalFeatures',
      'enableBlinkFeatures',
      'webviewTag: true',
      'setCertificateVerifyProc',
      'commandLine',
      'no-sandbox',
      'allowpopups',
      'remote',
      'bypassCSP',
      'corsEnabled',
    ])
      expect(shell.includes(word), word).toBe(false)
  })

  it('gives a page a policy that starts from nothing and runs its own scripts alone', () => {
    const parts = CONTENT_POLICY.split('; ')
    expect(parts).toContain("default-src 'none'")
    expect(parts).toContain("script-src 'self'")
    expect(parts).toContain("frame-ancestors 'none'")
    expect(CONTENT_POLICY).not.toMatch(/unsafe-eval|script-src[^;]*unsafe|https?:|\*/)
    expect(text('src/renderer/index.html')).not.toMatch(/<script(?![^>]*\bsrc=)|\son\w+=/)
  })

  it('looks at who sends each message of its page', () => {
    const listeners = [...shell.matchAll(/ipcMain\.(on|handle)\([\s\S]*?\n {2}\}\)/g)].map(([source]) => source)
    expect(listeners).toHaveLength(3)
    for (const source of listeners) expect(source).toContain('isFromPage(event)')
  })

  it('shows its page nothing of Electron but a few calls, and never a raw one', () => {
    const preload = text('src/main/shell/preload.ts')
    expect(preload.match(/exposeInMainWorld/g)).toHaveLength(1)
    expect(preload).not.toMatch(/expose\w+\([^)]*ipcRenderer|: ipcRenderer[,\n}]/)
  })

  it('opens nothing outside but https links', () => {
    expect(shell.match(/openExternal\(/g)).toHaveLength(1)
    expect(shell).toContain("new URL(url).protocol === 'https:') void shell.openExternal(url)")
  })

  it('is packed with its doors shut: no Node mode, no options or inspector from outside, only its own archive', () => {
    expect(builder.asar).toBe(true)
    expect(builder.electronFuses).toEqual({
      runAsNode: false,
      enableCookieEncryption: true,
      enableNodeOptionsEnvironmentVariable: false,
      enableNodeCliInspectArguments: false,
      enableEmbeddedAsarIntegrityValidation: true,
      onlyLoadAppFromAsar: true,
      grantFileProtocolExtraPrivileges: false,
    })
  })

  it('takes its links by one scheme, which is not that of its pages', () => {
    expect(builder.protocols).toEqual([{ name: 'Eitri', schemes: ['eitri'] }])
    expect(shell).toContain("export const SCHEME = 'app'")
  })

  it('runs an Electron that gets mends', () => {
    const { devDependencies } = JSON.parse(text('package.json'))
    expect(builder.electronVersion).toBe(devDependencies.electron)
  })
})
