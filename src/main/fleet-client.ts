import { ConnectError } from '@connectrpc/connect'
import { createConnectTransport } from '@connectrpc/connect-node'
import { fromConnectError } from '../ipc/fault-wire.ts'
import { asFault, Fault, findFault } from '../ipc/faults.ts'
import { type FleetClients, fleetClients } from '../ipc/fleet-clients.ts'
import { FaultSchema } from '../ipc/gen/eitri/fleet/v1/fault_pb.js'
import { CLIENT_HEADER, type ClientKind, TENANT_HEADER } from '../ipc/request-headers.ts'
import { MiB } from '../ipc/units.ts'

/** Largest answer taken from a control plane; the whole state of a large fleet fits many times. */
const READ_MAX_BYTES = 64 * MiB

export interface FleetClient extends FleetClients {
  readonly socketPath: string
  readonly askAs: AskAs
}

export interface AskAs {
  client: ClientKind
  /** Absent = the default one. */
  tenant?: string | undefined
}

/** What every request of this asker carries. */
export const askingHeaders = ({ client, tenant }: AskAs): Record<string, string> => ({
  [CLIENT_HEADER]: client,
  ...(tenant === undefined ? {} : { [TENANT_HEADER]: tenant }),
})

/** The fleet API on a control plane's unix socket. Connects per call; nothing to close. */
export function fleetClient(socketPath: string, askAs: AskAs = { client: 'api' }): FleetClient {
  const headers = Object.entries(askingHeaders(askAs))
  const transport = createConnectTransport({
    baseUrl: 'http://eitri',
    httpVersion: '1.1',
    nodeOptions: { socketPath },
    readMaxBytes: READ_MAX_BYTES,
    acceptCompression: [],
    interceptors: [
      (next) => (req) => {
        for (const [name, value] of headers) req.header.set(name, value)
        return next(req)
      },
    ],
  })
  return { socketPath, askAs, ...fleetClients(transport) }
}

/** What a call failed of: the control plane's own fault, or app/not-running when the socket is not there or broke. */
export function fleetFault(error: unknown, socketPath: string): Fault {
  if (!(error instanceof ConnectError) || findFault(error)) return asFault(error)
  if (error.findDetails(FaultSchema).length === 0 && error.cause instanceof Error && 'code' in error.cause)
    return new Fault('app/not-running', 'transient', { socket: socketPath }, { cause: error })
  const fault = fromConnectError(error)
  if (fault.code !== 'app/not-running') return fault
  return new Fault(fault.code, fault.disposition, { ...fault.params, socket: socketPath }, { cause: error })
}
