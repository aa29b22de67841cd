import type { Interceptor } from '@connectrpc/connect'
import { type Damage, readOnly } from '../store/database.ts'

/** Calls that change nothing of the store, by how their names begin. */
const LOOKS = /^(Get|List|Watch|Check|Find|Preview|Probe|Export|Show)[A-Z]/
/** What leads out of it: ways to the hosts, the new store itself, and what somebody who can help is sent. */
const WAYS_OUT: readonly string[] = ['RebuildStore', 'ReconnectHost', 'SignInHost', 'WriteBundle']

/** Whether a call goes on while the store can only be read. */
export const goesOn = (method: string): boolean => LOOKS.test(method) || WAYS_OUT.includes(method)

/** While the store's file is damaged, every call that would change something raises store/read-only and does nothing. */
export const whileDamaged =
  (store: { readonly damage: Damage | undefined }): Interceptor =>
  (next) =>
  async (req) => {
    if (store.damage && !goesOn(req.method.name)) throw readOnly(store.damage.reason)
    return next(req)
  }
