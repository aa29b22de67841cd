import { faultFromData } from '../../../ipc/faults.ts'
import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import type { HostCollection } from '../../../ipc/gen/eitri/fleet/v1/image_pb.js'
import { api } from '../../api/transport.ts'
import { go } from '../../routes.ts'
import { toastDone, toastFault } from '../../ui/toasts.tsx'
import { type AddHostDraft, rememberDraft, requestOf } from './add-host-draft.ts'

export const LOCAL_HOST_NAME = 'this-computer'

/** Starts the onboarding of this computer and shows its steps. */
export async function addThisComputer(): Promise<void> {
  try {
    const { task, host } = await api.hosts.addHost({
      name: LOCAL_HOST_NAME,
      way: { case: 'local', value: {} },
      ifAbsent: true,
    })
    if (task) go({ page: 'add-host', taskId: task.id })
    else if (host) go({ page: 'host', id: host.id, tab: 'overview' })
  } catch (error) {
    toastFault(error)
  }
}

/** The same again after a failure, without asking for a key that was accepted; says a fault in a toast. */
export async function addAgain(draft: AddHostDraft, acceptHostKey: string): Promise<void> {
  try {
    await startAdding(draft, acceptHostKey)
  } catch (error) {
    toastFault(error)
  }
}

/** Starts the onboarding of what was typed and shows its steps; throws what the control plane answers. */
export async function startAdding(draft: AddHostDraft, acceptHostKey = ''): Promise<void> {
  rememberDraft(draft)
  const { name, ssh } = requestOf(draft)
  const { task, host } = await api.hosts.addHost({ name, way: { case: 'ssh', value: { ...ssh, acceptHostKey } } })
  if (task) go({ page: 'add-host', taskId: task.id })
  else if (host) go({ page: 'host', id: host.id, tab: 'overview' })
}

export async function reconnectHost(host: Host): Promise<void> {
  try {
    await api.hosts.reconnectHost({ host: host.id })
  } catch (error) {
    toastFault(error)
  }
}

/** Answers whether it was removed or its removal started. */
export async function removeHost(host: Host, how: { force: boolean; uninstall: boolean }): Promise<boolean> {
  try {
    const { leftBehind } = await api.hosts.removeHost({ host: host.id, ...how })
    toastDone(
      leftBehind.length === 0
        ? `Removed ${host.name}`
        : `Removed ${host.name}; still running there: ${leftBehind.join(', ')}`,
    )
    return true
  } catch (error) {
    toastFault(error)
    return false
  }
}

/** Starts a sign-in that asks what the host asks; the id of its task, or why not. Empty = the host is connected already. */
export async function signInHost(
  host: Host,
  given: { password: string; passphrase: string; keep: 'memory' | 'keychain' },
): Promise<{ taskId: string } | undefined> {
  try {
    const { task } = await api.hosts.signInHost({ host: host.id, ...given, ask: true })
    return { taskId: task?.id ?? '' }
  } catch (error) {
    toastFault(error)
    return undefined
  }
}

/** Answers whether they are forgotten. */
export async function forgetSecrets(host: Host): Promise<boolean> {
  try {
    await api.hosts.forgetHostSecrets({ host: host.id })
    toastDone(`Forgot the secrets of ${host.name}`)
    return true
  } catch (error) {
    toastFault(error)
    return false
  }
}

/** Answers whether it was said; the host is dialled or told at once. */
export async function takeOverHost(host: Host, how: { useOlderData: boolean }): Promise<boolean> {
  try {
    await api.hosts.takeOverHost({ host: host.id, ...how })
    return true
  } catch (error) {
    toastFault(error)
    return false
  }
}

/** Answers whether the key is trusted now; the host is dialled at once. */
export async function acceptHostKey(host: Host, fingerprint: string): Promise<boolean> {
  try {
    await api.hosts.acceptHostKey({ host: host.id, fingerprint })
    return true
  } catch (error) {
    toastFault(error)
    return false
  }
}

/** Answers whether it was renamed and labelled so. */
export async function editHost(
  host: Host,
  change: { name?: string; labels?: Record<string, string>; removeLabels?: string[] },
): Promise<boolean> {
  try {
    await api.hosts.updateHost({ host: host.id, ...change })
    return true
  } catch (error) {
    toastFault(error)
    return false
  }
}

/** Answers whether it is drained, or takes VMs again. */
export async function drainHost(host: Host, how: { drain: boolean; stopVms: boolean }): Promise<boolean> {
  try {
    await api.hosts.drainHost({ host: host.id, ...how })
    return true
  } catch (error) {
    toastFault(error)
    return false
  }
}

export async function undrainHost(host: Host): Promise<void> {
  if (await drainHost(host, { drain: false, stopVms: false })) toastDone(`${host.name} takes VMs again`)
}

/** Starts the update of its agent; answers whether it began. */
export async function upgradeHost(host: Host): Promise<boolean> {
  try {
    await api.hosts.upgradeHost({ host: host.id })
    return true
  } catch (error) {
    toastFault(error)
    return false
  }
}

/** Answers whether its credential is ended. */
export async function revokeHost(host: Host): Promise<boolean> {
  try {
    await api.hosts.revokeHost({ host: host.id })
    toastDone(`Ended the credential of ${host.name}`)
    return true
  } catch (error) {
    toastFault(error)
    return false
  }
}

/** What the host removed from its cache; undefined = it did not. */
export async function collectImages(host: Host, all: boolean): Promise<HostCollection | undefined> {
  try {
    const [done] = (await api.images.collectImages({ host: host.id, all })).hosts
    if (done?.fault) throw faultFromData(done.fault)
    return done
  } catch (error) {
    toastFault(error)
    return undefined
  }
}
