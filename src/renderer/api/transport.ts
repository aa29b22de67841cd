import { createConnectTransport } from '@connectrpc/connect-web'
import { fleetClients } from '../../ipc/fleet-clients.ts'
import { CLIENT_HEADER } from '../../ipc/request-headers.ts'
import { joinSame } from './join-same.ts'

const CALL_TIMEOUT_MS = 30_000

const transport = createConnectTransport({
  baseUrl: location.origin,
  useBinaryFormat: true,
  defaultTimeoutMs: CALL_TIMEOUT_MS,
  interceptors: [
    joinSame(),
    (next) => (req) => {
      req.header.set(CLIENT_HEADER, 'app')
      return next(req)
    },
  ],
})

/** Clients of the fleet API on the origin that served this page. */
export const api = fleetClients(transport)

/** Opens WatchFleet; it lives until the signal aborts. */
export const watchFleet = (signal: AbortSignal) => api.fleet.watchFleet({}, { signal, timeoutMs: 0 })
