import { type DesktopShell, desktopShell } from '../../api/bridge.ts'
import { type FleetSnapshot, fleetStore } from '../../state/fleet-store.ts'
import { usePreferences } from '../../state/preferences.ts'
import { type Cause, datedCauses, endedTasks, isLost, liveCauses } from './causes.ts'
import { marksOf } from './marks.ts'
import { addNotices, isQuiet, type Notice, newCauses, noticeText, noticeTitle } from './notice-list.ts'
import { keepNotices, useNotices } from './notice-store.ts'

const JUDGE_MS = 1000
const DATED_MS = 30_000
/** Of a notification of the operating system; the shell refuses longer ones. */
const [MAX_ID, MAX_TITLE, MAX_BODY] = [200, 200, 1000]

/** Judges the fleet at most once a second, while it is told, and tells what is new. Runs as long as the window. */
export function watchNotices(): void {
  let judged = fleetStore.getState()
  let dated: Cause[] = []
  let datedAt = 0
  const lostSince = new Map<string, number>()
  const judge = () => {
    const fleet = fleetStore.getState()
    const now = Date.now()
    if (fleet.revision === undefined || fleet.feed.state !== 'live') {
      lostSince.clear()
      return
    }
    if (now - datedAt >= DATED_MS) {
      dated = datedCauses(fleet, now)
      datedAt = now
    }
    followLost(lostSince, fleet, now)
    const ended = judged.revision !== undefined && document.hidden ? endedTasks(judged, fleet, now) : []
    tell([...ended, ...liveCauses(fleet, lostSince, now), ...dated], now)
    if (judged !== fleet) {
      useNotices.setState({ marks: marksOf(fleet, { trust: dated.filter((c) => c.kind === 'deadline').length }) })
      judged = fleet
    }
  }
  setInterval(judge, JUDGE_MS)
  // The marks of the rail are there with the first state.
  const stop = fleetStore.subscribe(({ revision }) => {
    if (revision === undefined) return
    stop()
    judge()
  })
}

/** A host counts as lost from when this window saw it go, so that a sleep of the computer is not held against it. */
function followLost(since: Map<string, number>, fleet: FleetSnapshot, now: number): void {
  for (const id of since.keys()) {
    const host = fleet.hosts.get(id)
    if (!host || !isLost(host)) since.delete(id)
  }
  for (const host of fleet.hosts.values()) if (isLost(host) && !since.has(host.id)) since.set(host.id, now)
}

function tell(causes: readonly Cause[], now: number): void {
  const { notices, told: before } = useNotices.getState()
  const { fresh, told } = newCauses(before, causes, now)
  const { kinds, os, quiet } = usePreferences.getState().notices
  const wanted = fresh.filter(({ kind }) => kinds[kind])
  if (wanted.length === 0) {
    if (before === undefined || fresh.length > 0) keepNotices({ told })
    else useNotices.setState({ told })
    return
  }
  const next = addNotices(notices, wanted, now)
  keepNotices({ notices: next, told })
  if (os && !document.hasFocus() && !isQuiet(quiet, new Date(now))) notify(desktopShell(), next, notices)
}

function notify({ notify: show }: DesktopShell, next: readonly Notice[], before: readonly Notice[]): void {
  for (const notice of next.filter((n) => !before.includes(n)))
    show?.({
      id: notice.id.slice(0, MAX_ID),
      title: noticeTitle(notice).slice(0, MAX_TITLE),
      body: noticeText(notice).slice(0, MAX_BODY),
      address: notice.items[0]?.address ?? '',
    })
}
