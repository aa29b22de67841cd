/** What a window asks to be shown by the notification centre of the computer, as plain text. */
export interface DesktopNotice {
  /** The same cause has the same id: a later one takes the place of the one before. */
  id: string
  title: string
  body: string
  /** `eitri://…` of the object it is about. */
  address: string
}

/** Names of the channels between a window and the shell: the first two from the window, the others to it. */
export const DESKTOP_CHANNELS = {
  notify: 'notify',
  /** The window takes addresses from now on; one that waited comes at once. */
  follow: 'follow',
  address: 'address',
  resume: 'resume',
  /** True while the system says that a screen reader runs; told when the window follows and at each change. */
  reader: 'reader',
} as const
