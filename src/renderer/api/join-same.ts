import { toJsonString } from '@bufbuild/protobuf'
import type { Interceptor, UnaryResponse } from '@connectrpc/connect'

/** Calls that change nothing, by how their names begin: each reader has its own answer, and its own end. */
const LOOKS = /^(Get|List|Watch|Check|Find|Preview|Probe|Export|Show)[A-Z]/

/**
 * A change that is asked for again while the same one is under way is that one: a button pressed twice, or Enter beside
 * it, makes one thing and both hear its answer. What is asked for after the answer is a new wish.
 */
export function joinSame(): Interceptor {
  const underWay = new Map<string, Promise<UnaryResponse>>()
  return (next) => async (req) => {
    if (req.stream || LOOKS.test(req.method.name)) return await next(req)
    const { method, message } = req
    const key = `${method.parent.typeName}/${method.name} ${toJsonString(method.input, message)}`
    const known = underWay.get(key)
    if (known) return await known
    const call = next(req) as Promise<UnaryResponse>
    underWay.set(key, call)
    return await call.finally(() => underWay.delete(key))
  }
}
