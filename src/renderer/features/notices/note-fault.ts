import { windowFaultText } from '../../../ipc/fault-text-window.ts'
import type { FaultData } from '../../../ipc/faults.ts'
import { addressOf, parseRoute } from '../../routes.ts'
import { MAX_NOTICES, type Notice } from './notice-list.ts'
import { keepNotices, useNotices } from './notice-store.ts'

/** What went wrong with an act of the person stays in the bell when its toast is gone. It is read: it was shown. */
export function noteFault(fault: FaultData): void {
  const { what, effect, next } = windowFaultText(fault.code, fault.params)
  const notice: Notice = {
    id: `fault:${fault.id}`,
    kind: 'fault',
    tone: 'bad',
    at: Date.now(),
    read: true,
    items: [
      {
        subject: fault.params['vm'] ?? fault.params['host'] ?? what,
        title: what,
        text: [effect, next].filter(Boolean).join(' '),
        address: addressOf(parseRoute(location.hash)),
      },
    ],
  }
  keepNotices({ notices: [notice, ...useNotices.getState().notices].slice(0, MAX_NOTICES) })
}
