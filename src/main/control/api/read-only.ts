import type { Interceptor } from '@connectrpc/connect'
import { onlyLooks } from '../../../ipc/method-names.ts'
import { type Damage, readOnly } from '../store/database.ts'

/** What leads out of it: ways to the hosts, the new store itself, and what somebody who can help is sent. */
const WAYS_OUT: readonly string[] = ['RebuildStore', 'ReconnectHost', 'SignInHost', 'WriteBundle']

/** Whether a call goes on while the store can only be read. */
export const goesOn = (method: string): boolean => onlyLooks(method) || WAYS_OUT.includes(method)

/** While the store's file is damaged, every call that would change something raises store/read-only and does nothing. */
export const whileDamaged =
  (store: { readonly damage: Damage | undefined }): Interceptor =>
  (next) =>
  async (req) => {
    if (store.damage && !goesOn(req.method.name)) throw readOnly(store.damage.reason)
    return next(req)
  }
