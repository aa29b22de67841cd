import type { Clock } from '../../ipc/base/clock.ts'
import type { Log } from '../../ipc/base/log.ts'

/** Where one control plane keeps and finds things; all absolute. */
export interface ControlPaths {
  dataDir: string
  database: string
  lock: string
  /** The API's unix socket, 0600. */
  apiSocket: string
  /** Images kept in this store, by digest. */
  images: string
  /** State directory of the local agent. */
  localAgentState: string
  localAgentSocket: string
  logFile: string
  /** Built agent artefacts and their manifest.json. */
  agentArtefacts: string
  /** Built renderer; undefined = the API serves no pages. */
  renderer: string | undefined
  /** The person's ~/.ssh. */
  sshDir: string
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
}
