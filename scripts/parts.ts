import { accessSync, constants, existsSync, readdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { runSaid } from './waiting.mjs'

/** A part of the system this project needs, and the Debian packages that bring it. */
export interface Part {
  name: string
  packages: string[]
  present(): boolean
}

const SYSTEM_DIRS = ['/usr/sbin', '/sbin', '/usr/local/sbin']

function hasProgram(name: string): boolean {
  const dirs = [...(process.env['PATH'] ?? '').split(delimiter), ...SYSTEM_DIRS]
  return dirs.some((dir) => {
    try {
      accessSync(join(dir, name), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

const program = (name: string, ...packages: string[]): Part => ({ name, packages, present: () => hasProgram(name) })
const CHROMIUM_NAMES = ['chromium', 'google-chrome', 'chromium-browser']

const fonts: Part = {
  name: 'fonts',
  packages: ['fonts-dejavu-core', 'fonts-liberation'],
  present: () => existsSync('/usr/share/fonts/truetype/dejavu') || existsSync('/usr/share/fonts/truetype/liberation'),
}
const qemu =
  process.arch === 'arm64' ? ['qemu-system-aarch64', 'qemu-system-arm'] : ['qemu-system-x86_64', 'qemu-system-x86']

export const VM_PARTS: Part[] = [
  program(qemu[0] as string, qemu[1] as string),
  program('qemu-img', 'qemu-utils'),
  program('ssh', 'openssh-client'),
]
export const BROWSER_PARTS: Part[] = [
  {
    name: 'chromium',
    packages: ['chromium'],
    present: () => existsSync(process.env['CHROMIUM'] ?? '') || CHROMIUM_NAMES.some(hasProgram),
  },
  fonts,
]
/** What guests read YAML with: the referee of our own reader. */
const pyYaml: Part = {
  name: 'python3-yaml',
  packages: ['python3-yaml'],
  present: () => existsSync('/usr/bin/python3') && existsSync('/usr/lib/python3/dist-packages/yaml'),
}
const PAM_DIRS = ['x86_64-linux-gnu', 'aarch64-linux-gnu'].map((arch) => `/lib/${arch}/security`)
export const TEST_PARTS: Part[] = [
  pyYaml,
  program('sshd', 'openssh-server'),
  program('ssh-agent', 'openssh-client'),
  program('busybox', 'busybox-static'),
  program('unshare', 'util-linux'),
  program('ip', 'iproute2'),
  program('nft', 'nftables'),
  program('dnsmasq', 'dnsmasq-base'),
  program('sudo', 'sudo'),
  program('fish', 'fish'),
  program('tcsh', 'tcsh'),
  {
    name: 'codes for sign-ins',
    packages: ['libpam-google-authenticator'],
    present: () => PAM_DIRS.some((dir) => existsSync(`${dir}/pam_google_authenticator.so`)),
  },
  program('git', 'git'),
  program('curl', 'curl'),
  program('Xvfb', 'xvfb'),
  program('mmdebstrap', 'mmdebstrap'),
  program('mke2fs', 'e2fsprogs'),
  program('grub-mkimage', 'grub-common'),
  {
    name: 'boot code of GRUB',
    packages: ['grub-pc-bin'],
    present: () => existsSync('/usr/lib/grub/i386-pc/boot.img'),
  },
]

/** The command that brings the missing packages. */
export const installCommand = (packages: readonly string[]) =>
  `apt-get install -y --no-install-recommends ${packages.join(' ')}`

function haveLists(): boolean {
  try {
    return readdirSync('/var/lib/apt/lists').some((name) => /_Packages(\.|$)/.test(name))
  } catch {
    return false
  }
}

async function apt(sudo: string[], packages: readonly string[]): Promise<boolean> {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const run = async (what: string, command: string) => {
    const [file, ...args] = [...sudo, ...command.split(' ')] as [string, ...string[]]
    const { status } = await runSaid(what, file, args, { env, stdio: ['inherit', 'ignore', 2] })
    return status === 0
  }
  const install = () => run(`Installing ${packages.join(' ')}`, installCommand(packages))
  if (haveLists() && (await install())) return true
  return (await run('Reading the lists of packages', 'apt-get update -qq')) && (await install())
}

async function agreed(packages: readonly string[]): Promise<boolean> {
  if (!process.stdin.isTTY || !hasProgram('sudo')) return false
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  const answer = await terminal.question(`Install ${packages.join(' ')} with sudo? [Y/n] `)
  terminal.close()
  return /^(y(es)?)?$/i.test(answer.trim())
}

/** Installs what is missing where that is possible and agreed to; else says the one line to run and ends with exit code 3. */
export async function ensureParts(parts: readonly Part[]): Promise<void> {
  const missing = parts.filter((part) => !part.present())
  if (missing.length === 0) return
  const names = missing.map((part) => part.name).join(', ')
  const packages = [...new Set(missing.flatMap((part) => part.packages))]
  if (!hasProgram('apt-get'))
    end(`Missing here: ${names}. Install them with this system's package manager and start again.`)
  const root = process.getuid?.() === 0
  const sudo = root ? [] : ['sudo']
  const line = `${root ? '' : 'sudo '}${installCommand(packages)}`
  if (!root && !(await agreed(packages))) end(`Missing here: ${names}. Install with: ${line}`)
  const done = await apt(sudo, packages)
  const still = missing.filter((part) => !part.present())
  if (!done || still.length > 0)
    end(`Still missing: ${(done ? still : missing).map((p) => p.name).join(', ')}. Install with: ${line}`)
}

function end(sentence: string): never {
  console.error(sentence)
  process.exit(3)
}
