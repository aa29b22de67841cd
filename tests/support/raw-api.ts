import { type IncomingHttpHeaders, request } from 'node:http'
import { buffer } from 'node:stream/consumers'

export interface RawAnswer {
  status: number
  headers: IncomingHttpHeaders
  body: Buffer
}

/** One unary call as JSON over a unix socket, nothing decoded: `service/method`, e.g. `eitri.fleet.v1.VmService/GetVm`. */
export async function rawCall(
  socketPath: string,
  path: string,
  body: string,
  headers: Record<string, string> = {},
): Promise<RawAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<RawAnswer>()
  const req = request(
    { socketPath, path: `/${path}`, method: 'POST', headers: { 'content-type': 'application/json', ...headers } },
    (res) => {
      buffer(res).then((whole) => resolve({ status: res.statusCode ?? 0, headers: res.headers, body: whole }), reject)
    },
  )
  req.on('error', reject)
  req.end(body)
  return promise
}
