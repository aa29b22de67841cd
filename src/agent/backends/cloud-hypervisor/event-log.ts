import { z } from 'zod'

const Event = z.looseObject({ source: z.string(), event: z.string() })
export type ChEvent = z.infer<typeof Event>

/** How a guest ended, as far as its events tell. */
export type ChEnding = 'powered-off' | 'panicked' | ''

/** Events of a log that may begin or end in the middle of one: documents with an empty line between them. */
export function parseEvents(text: string): ChEvent[] {
  return text.split(/\n\s*\n/).flatMap((part) => {
    try {
      const event = Event.safeParse(JSON.parse(part))
      return event.success ? [event.data] : []
    } catch {
      return []
    }
  })
}

/** What the guest did last: a panic is told before the end it leads to; a killed process tells nothing. */
export function endingOf(events: readonly ChEvent[]): ChEnding {
  const booted = events.findLastIndex(({ source, event }) => source === 'vm' && event === 'booted')
  const since = events.slice(booted + 1)
  if (since.some(({ source, event }) => source === 'guest' && event === 'panic')) return 'panicked'
  return since.some(({ source, event }) => source === 'vm' && event === 'shutdown') ? 'powered-off' : ''
}
