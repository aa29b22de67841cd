import './jitless.ts'
import './styles.css'
import { QueryClientProvider } from '@tanstack/react-query'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { systemClock } from '../ipc/base/clock.ts'
import { desktopShell } from './api/bridge.ts'
import { queryClient } from './api/queries.ts'
import { signIn } from './api/sign-in.ts'
import { watchFleet } from './api/transport.ts'
import { App } from './app.tsx'
import { watchNotices } from './features/notices/watch-notices.ts'
import { go, routeOfAddress } from './routes.ts'
import { watchSleep } from './state/checking.ts'
import { runFleetFeed } from './state/fleet-feed.ts'
import { fleetStore } from './state/fleet-store.ts'
import { framePace } from './state/frame-pace.ts'
import { keepPlace } from './state/place.ts'
import { applyPreferences } from './state/preferences.ts'
import { watchReader } from './state/screen-reader.ts'

applyPreferences()
const root = createRoot(document.getElementById('root') ?? document.body)
const app = (
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <App />
    </QueryClientProvider>
  </StrictMode>
)

const mayTalk = await signIn()
keepPlace()
// before the window follows: what is told then is heard
watchReader()
desktopShell().onOpen?.((address) => {
  const route = routeOfAddress(address)
  if (route) go(route)
})
watchSleep()
watchNotices()
if (mayTalk)
  void runFleetFeed(
    { store: fleetStore, watch: watchFleet, clock: systemClock, pace: framePace() },
    new AbortController().signal,
  )
else fleetStore.setState({ feed: { state: 'signed-out' } })
root.render(app)
// A new link pasted into this tab changes only the fragment, which loads nothing by itself.
addEventListener('hashchange', () => {
  if (location.hash.startsWith('#t=')) location.reload()
})
