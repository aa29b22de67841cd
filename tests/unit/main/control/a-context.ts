import { createContextValues, type HandlerContext } from '@connectrpc/connect'
import { setPrincipal } from '../../../../src/main/control/api/principal.ts'

/** What a handler is called with when someone of this tenant asks. */
export function aContext(tenant = 'default'): HandlerContext {
  const values = createContextValues()
  setPrincipal(values, { tenant, user: 'alice', client: 'cli', requestId: 'r-1' })
  return { values, signal: new AbortController().signal } as unknown as HandlerContext
}
