import type { Clock } from '../../ipc/base/clock.ts'
import type { Log } from '../../ipc/base/log.ts'

/** Where one control plane keeps and finds things; all absolute. */
export interface ControlPaths {
  dataDir: string
  database: string
  lock: string
  /** The API's unix socket, 0600. */
  apiSocket: string
  /** Sockets of logins to guests, for ssh, 0700. */
  loginAgents: string
  /** Images kept in this store, by digest. */
  images: string
  /** State directory of the local agent. */
  localAgentState: string
  localAgentSocket: string
  logFile: string
  /** Private keys of SSH authorities, 0700; never part of a backup. */
  caKeys: string
  /** Built agent artefacts and their manifest.json. */
  agentArtefacts: string
  /** Built renderer; undefined = the API serves no pages. */
  renderer: string | undefined
  /** The person's ~/.ssh. */
  sshDir: string
}

/** The keychain of the desktop: what it seals only it opens. Both reject with an Error that says why, one sentence. */
export interface Keychain {
  seal(secret: Buffer): Promise<Buffer>
  open(sealed: Buffer): Promise<Buffer>
}

/** Facts of the operating system and the build, injected so that a test can make them lie. */
export interface Ports {
  clock: Clock
  log: Log
  paths: ControlPaths
  env: Readonly<Record<string, string | undefined>>
  version: string
  platform: NodeJS.Platform
  arch: NodeJS.Architecture
  /** Name other control planes see. */
  controllerName: string
  /** Absent = headless. */
  keychain?: Keychain
  /** Typed by the person who started this process; opens files of CA keys. Absent = none was. */
  caPassphrase?: string
}
