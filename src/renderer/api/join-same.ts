import { toJsonString } from '@bufbuild/protobuf'
import type { Interceptor, UnaryResponse } from '@connectrpc/connect'
import { onlyLooks } from '../../ipc/method-names.ts'

/**
 * A change that is asked for again while the same one is under way is that one: a button pressed twice, or Enter beside
 * it, makes one thing and both hear its answer. What is asked for after the answer is a new wish. Of calls that only look
 * each reader has its own answer, and its own end.
 */
export function joinSame(): Interceptor {
  const underWay = new Map<string, Promise<UnaryResponse>>()
  return (next) => async (req) => {
    if (req.stream || onlyLooks(req.method.name)) return await next(req)
    const { method, message } = req
    const key = `${method.parent.typeName}/${method.name} ${toJsonString(method.input, message)}`
    const known = underWay.get(key)
    if (known) return await known
    const call = next(req) as Promise<UnaryResponse>
    underWay.set(key, call)
    return await call.finally(() => underWay.delete(key))
  }
}
