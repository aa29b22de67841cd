import type { DesktopNotice } from '../../ipc/desktop-channel.ts'

/** What the preload of the desktop shell may offer; nothing of it is there in a browser. */
export interface DesktopShell {
  /** Answered by one window message `{ eitri: 'console-port', nonce }` that carries the port. */
  openConsolePort?: (nonce: string) => void
  notify?: (notice: DesktopNotice) => void
  /** Calls back with the address of a link or notification a person clicked. Answers what stops it. */
  onOpen?: (listener: (address: string) => void) => () => void
  /** Calls back when the computer woke. Answers what stops it. */
  onResume?: (listener: () => void) => () => void
  /** Calls back with whether a screen reader runs, now and at each change. Answers what stops it. */
  onReader?: (listener: (runs: boolean) => void) => () => void
}

export const desktopShell = (): DesktopShell => (window as { eitri?: DesktopShell }).eitri ?? {}
