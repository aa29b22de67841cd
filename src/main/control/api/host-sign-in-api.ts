import type { HandlerContext, ServiceImpl } from '@connectrpc/connect'
import type { HostService, SignInHostRequest } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import { check } from '../../../ipc/rules.ts'
import { keepOf } from '../hosts/secrets.ts'
import type { Secrets } from '../hosts/ssh/credentials.ts'
import type { AuditStore } from '../store/audit-store.ts'
import type { HostRow } from '../store/host-row.ts'
import type { Registry } from '../sync/registry.ts'
import type { Keep, TaskContext, TaskOutcome } from '../tasks/task-context.ts'
import type { TaskRunner } from '../tasks/task-runner.ts'
import { taskView } from './task-view.ts'

export interface HostSignInDeps {
  registry: Pick<Registry, 'active'>
  tasks: TaskRunner
  audit: AuditStore
  links: {
    tryNow(hostId: string): void
    /** Takes secrets of its sign-in and dials nothing. Raises app/part-missing where they cannot be kept so. */
    signIn(hostId: string, secrets: Required<Secrets>, keep: Keep): Promise<void>
    /** Wherever they are kept. Idempotent. */
    forgetSecrets(hostId: string): Promise<void>
  }
  onboarding: {
    /** Signs in, asking what the host asks. */
    signIn(hostId: string, keep: Keep, task: TaskContext): Promise<TaskOutcome>
  }
}

type Methods = 'signInHost' | 'forgetHostSecrets'

/** Signing in to hosts that are added, and what is kept of it. Audited by where, never by what. */
export function hostSignInApi(
  deps: HostSignInDeps,
  resolve: (request: { host: string }, context: HandlerContext) => HostRow,
): Pick<ServiceImpl<typeof HostService>, Methods> {
  const { links, audit } = deps
  return {
    signInHost: (request, context) => signIn(deps, resolve(request, context), request),
    forgetHostSecrets: async (request, context) => {
      const host = resolve(request, context)
      await links.forgetSecrets(host.id)
      audit.add({ action: 'host.forget-secrets', tenant: host.tenant, hostId: host.id })
      return {}
    },
  }
}

async function signIn(
  { links, registry, tasks, onboarding, audit }: HostSignInDeps,
  host: HostRow,
  request: SignInHostRequest,
) {
  const keep = keepOf(request.keep)
  const { password, passphrase, sudoPassword } = check('signInHost', request)
  await links.signIn(host.id, { password, passphrase, sudoPassword }, keep)
  audit.add({ action: 'host.sign-in', tenant: host.tenant, hostId: host.id, detail: { keep } })
  if (!request.ask) {
    links.tryNow(host.id)
    return {}
  }
  if (registry.active(host.id)) return {}
  const id = tasks.start(host.tenant, 'sign_in', host.name, (task) => onboarding.signIn(host.id, keep, task))
  return { task: taskView(tasks.get(host.tenant, id)) }
}
