/** One notice for the notification centre of the operating system. */
export interface OsNotice {
  /** The same cause has the same id: a later one takes the place of the one before. */
  id: string
  title: string
  body: string
  /** `eitri://…` of the object it is about. */
  address: string
}

/** What the preload of the desktop shell may offer; nothing of it is there in a browser. */
export interface DesktopShell {
  notify?: (notice: OsNotice) => void
  /** Calls back with the address of a link or notification a person clicked. Answers what stops it. */
  onOpen?: (listener: (address: string) => void) => () => void
  /** Calls back when the computer woke. Answers what stops it. */
  onResume?: (listener: () => void) => () => void
}

export const desktopShell = (): DesktopShell => (window as { eitri?: DesktopShell }).eitri ?? {}
