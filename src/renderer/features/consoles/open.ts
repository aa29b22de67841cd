import { plural } from '../../lib/format.ts'
import { go } from '../../routes.ts'
import { toastDone } from '../../ui/toasts.tsx'
import { MAX_PANES } from './workspace-layout.ts'
import { changeDesk } from './workspace-store.ts'
import { openMany, openTab } from './workspaces.ts'

/** Opens the consoles of VMs in the workspace and goes there; what finds no room is said. */
export function openInWorkspace(vmIds: readonly string[]): void {
  let without = 0
  changeDesk((desk) => {
    const targets = vmIds.map((vmId) => ({ kind: 'console' as const, vmId }))
    const opened = openMany(desk, targets)
    without = opened.left
    return opened.desk
  })
  if (without > 0)
    toastDone(`${plural(without, 'console')} not opened: a workspace holds ${MAX_PANES}. Close some first.`)
  go({ page: 'consoles' })
}

/** A shell over SSH in a tab of the workspace. `login`: whom to log in as in a VM; absent = root. */
export function openShell({ kind, id, login = '' }: { kind: 'vm' | 'host'; id: string; login?: string }): void {
  changeDesk((desk) => openTab(desk, { kind: 'shell', on: kind, id, login }))
  go({ page: 'consoles' })
}
