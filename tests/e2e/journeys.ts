import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { expect, type Locator, type Page } from '@playwright/test'
import type { Desktop } from '../support/eitri.ts'
import type { SshHost } from '../support/ssh-host.ts'

const MAX_TABS = 80

/** The person's ~/.ssh/config as it names these hosts, in this order. */
export function writeSshConfig(desktop: Desktop, hosts: readonly { name: string; address: string; key: string }[]) {
  const entries = hosts.map(
    ({ name, address, key }) => `Host ${name}\n  HostName ${address}\n  User root\n  IdentityFile ${key}\n`,
  )
  fs.writeFileSync(path.join(desktop.home, '.ssh/config'), entries.join('\n'), { mode: 0o600 })
}

/** Gives the host a key signed by a new CA; the line of known_hosts that trusts that CA for it. */
export async function signHostKey(host: SshHost, dir: string): Promise<string> {
  const keygen = (...args: string[]) => execFileSync('ssh-keygen', ['-q', '-C', '', ...args])
  const ca = path.join(dir, 'ca')
  const key = path.join(dir, 'host_key')
  for (const file of [ca, key]) keygen('-N', '', '-t', 'ed25519', '-f', file)
  keygen('-s', ca, '-I', host.name, '-h', '-n', host.address, `${key}.pub`)
  const put = async (from: string, to: string) =>
    host.must(['sh', '-c', `umask 077; cat >${to}`], { input: fs.readFileSync(from, 'utf8') })
  await put(key, '/etc/ssh/signed')
  await put(`${key}-cert.pub`, '/etc/ssh/signed-cert.pub')
  await host.restartSshd(['HostKey /etc/ssh/signed', 'HostCertificate /etc/ssh/signed-cert.pub'])
  const [type, blob] = fs.readFileSync(`${ca}.pub`, 'utf8').split(' ')
  return `@cert-authority ${host.address} ${type} ${blob?.trim()}\n`
}

/** A key the host does not have, as the line of a known_hosts that says it has. */
export function otherHostKey(host: SshHost): { line: string; fingerprint: string } {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'eitri-key-'))
  try {
    const file = path.join(dir, 'key')
    execFileSync('ssh-keygen', ['-q', '-C', '', '-N', '', '-t', 'ed25519', '-f', file])
    const fingerprint = execFileSync('ssh-keygen', ['-l', '-f', file], { encoding: 'utf8' }).split(' ')[1] ?? ''
    return { line: `${host.address} ${fs.readFileSync(`${file}.pub`, 'utf8')}`, fingerprint }
  } finally {
    fs.rmSync(dir, { recursive: true })
  }
}

/** The first thing a server says at this address; '' while none answers. */
export function greeting(address: string, port: number): Promise<string> {
  return new Promise((resolve) => {
    const socket = net.connect({ host: address, port, timeout: 5_000 })
    const end = (text: string) => {
      socket.destroy()
      resolve(text)
    }
    socket.once('data', (bytes) => end(bytes.toString('latin1')))
    for (const event of ['error', 'timeout', 'close']) socket.once(event, () => end(''))
  })
}

/** A person who counts every click and every Enter. */
export class CountingHand {
  acts = 0
  readonly #page: Page
  constructor(page: Page) {
    this.#page = page
  }

  async click(what: Locator): Promise<void> {
    this.acts++
    await what.click()
  }

  async enter(): Promise<void> {
    this.acts++
    await this.#page.keyboard.press('Enter')
  }
}

/** A person without a mouse. */
export class Keyboard {
  readonly #page: Page
  constructor(page: Page) {
    this.#page = page
  }

  async press(...keys: string[]): Promise<void> {
    for (const key of keys) await this.#page.keyboard.press(key)
  }

  type(text: string): Promise<void> {
    return this.#page.keyboard.type(text)
  }

  /** Tab until it has the focus, as it must have somewhere. */
  async tabTo(what: Locator, key: 'Tab' | 'Shift+Tab' = 'Tab'): Promise<void> {
    await expect(what).toBeEnabled()
    for (let i = 0; i < MAX_TABS; i++) {
      if (await what.evaluate((e) => e === document.activeElement)) return
      await this.#page.keyboard.press(key)
    }
    throw new Error(`${what} has no focus after ${MAX_TABS} times ${key}`)
  }

  async tabToAndEnter(what: Locator): Promise<void> {
    await this.tabTo(what)
    await this.press('Enter')
  }

  /** An entry of the menu that is open, by arrows and Enter. */
  async choose(entry: Locator): Promise<void> {
    await expect(entry).toBeVisible()
    for (let i = 0; i < MAX_TABS; i++) {
      if (await entry.evaluate((e) => e === document.activeElement)) return this.press('Enter')
      await this.press('ArrowDown')
    }
    throw new Error(`${entry} is not reached by arrows`)
  }
}
