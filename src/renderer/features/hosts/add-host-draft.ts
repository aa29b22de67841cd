import type { Problem } from '../../../ipc/rules.ts'
import { problemsOf } from '../../../ipc/rules.ts'
import { nameFromTarget, parseSshTarget } from './ssh-target.ts'

/** The add-host form as it is typed. */
export interface AddHostDraft {
  target: string
  /** Undefined = made from the target. */
  name: string | undefined
  identityFile: string
  /** Hosts to go through, as `ssh -J` has it. Empty = as ssh says. */
  jump: string
  keep: 'memory' | 'keychain'
  useSudo: boolean
}

export const EMPTY_DRAFT: AddHostDraft = {
  target: '',
  name: undefined,
  identityFile: '',
  jump: '',
  keep: 'memory',
  useSudo: false,
}

let remembered = EMPTY_DRAFT

/** What was sent last, for *Try again*; forgotten once that host is there. */
export const lastDraft = (): AddHostDraft => remembered
export function rememberDraft(draft: AddHostDraft): void {
  remembered = draft
}

export const draftName = (draft: AddHostDraft): string =>
  draft.name ?? nameFromTarget(parseSshTarget(draft.target).host)

/** The request's parts; the rest of SshWay is asked for when it is needed. */
export function requestOf(draft: AddHostDraft) {
  const { host, user, port } = parseSshTarget(draft.target)
  return {
    name: draftName(draft),
    ssh: {
      host,
      user,
      ...(port === undefined ? {} : { port }),
      identityFile: draft.identityFile.trim(),
      jump: draft.jump.trim(),
      keep: draft.keep,
      useSudo: draft.useSudo,
    },
  }
}

/** What is wrong with it now, by the same rules as the API. */
export function draftProblems(draft: AddHostDraft, taken: ReadonlySet<string>): Problem[] {
  const { name, ssh } = requestOf(draft)
  const secrets = { password: '', sudoPassword: '', passphrase: '', acceptHostKey: '' }
  const nameTaken = taken.has(name) ? [{ field: 'name', problem: 'a host of this name is already here' }] : []
  return [...problemsOf('sshWay', { ...ssh, ...secrets }), ...problemsOf('addHost', { name }), ...nameTaken]
}
