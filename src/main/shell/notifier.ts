import { z } from 'zod'
import type { DesktopNotice } from '../../ipc/desktop-channel.ts'
import { DesktopAddress } from './desktop-link.ts'

const Asked = z.object({
  id: z.string().min(1).max(200),
  title: z.string().min(1).max(200),
  body: z.string().max(1_000),
  address: DesktopAddress,
}) satisfies z.ZodType<DesktopNotice>

/** Of Electron's Notification, what is used. */
export interface OsNotification {
  on(event: 'click' | 'close', listener: () => void): unknown
  show(): void
  close(): void
}

/** Of what a window asks for within a minute, and what is kept at hand for its click. */
const SHOWN_PER_MINUTE = 20
const KEPT = 50
const MINUTE_MS = 60_000

export interface NotifierDeps {
  /** Undefined where the computer has no notification centre. */
  make: ((words: { title: string; body: string }) => OsNotification) | undefined
  open(address: string): void
  now(): number
}

/** Puts a window's notices into the notification centre: one per cause, bounded in number, and a click opens the object. */
export class Notifier {
  readonly #deps: NotifierDeps
  readonly #shown = new Map<string, OsNotification>()
  #times: number[] = []

  constructor(deps: NotifierDeps) {
    this.#deps = deps
  }

  /** Whatever is malformed or too much is left out: the app's own bell has it all. */
  notify(asked: unknown): void {
    const parsed = Asked.safeParse(asked)
    if (!parsed.success || !this.#deps.make || !this.#mayShow()) return
    const { id, title, body, address } = parsed.data
    const before = this.#shown.get(id)
    this.#shown.delete(id)
    before?.close()
    const notification = this.#deps.make({ title, body })
    this.#shown.set(id, notification)
    if (this.#shown.size > KEPT) this.#shown.delete(this.#shown.keys().next().value!)
    const forget = () => this.#shown.get(id) === notification && this.#shown.delete(id)
    notification.on('click', () => {
      forget()
      this.#deps.open(address)
    })
    notification.on('close', forget)
    notification.show()
  }

  #mayShow(): boolean {
    const now = this.#deps.now()
    this.#times = this.#times.filter((at) => at > now - MINUTE_MS)
    if (this.#times.length >= SHOWN_PER_MINUTE) return false
    this.#times.push(now)
    return true
  }
}
