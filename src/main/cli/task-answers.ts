import { Fault } from '../../ipc/faults.ts'
import type { TaskQuestion } from '../../ipc/gen/eitri/fleet/v1/task_pb.js'
import type { CommandContext } from './context.ts'
import { askLine, confirm, interactive } from './prompts.ts'

export type Answer = { keep?: string } & (
  | { case: 'acceptFingerprint'; value: string }
  | { case: 'secret'; value: string }
  | { case: 'agree'; value: boolean }
)

/** A person's answer at the terminal. Raises the fault that the question means where there is none, or they decline. */
export async function answerTo(
  { io, signal }: Pick<CommandContext, 'io' | 'signal'>,
  { kind }: TaskQuestion,
): Promise<Answer> {
  const asked = interactive(io)
  const agreed = async (words: string, otherwise: Fault): Promise<boolean> => {
    if (asked && (await confirm(io, words, signal))) return true
    throw otherwise
  }
  switch (kind.case) {
    case 'hostKey': {
      const { host, keyType, fingerprint, knownFingerprint } = kind.value
      const params = { host, fingerprint, ...(knownFingerprint === undefined ? {} : { known: knownFingerprint }) }
      const refused = new Fault(
        knownFingerprint === undefined ? 'ssh/host-key-unknown' : 'ssh/host-key-changed',
        'permanent',
        params,
      )
      const words =
        knownFingerprint === undefined
          ? `${host} shows a new ${keyType} host key ${fingerprint}. Trust it?`
          : `The host key of ${host} CHANGED from ${knownFingerprint} to ${fingerprint}. Trust the new one?`
      await agreed(words, refused)
      return { case: 'acceptFingerprint', value: fingerprint }
    }
    case 'secret': {
      const { what, of, problem } = kind.value
      if (!asked) throw missingSecret(what, of, problem)
      const words =
        { password: 'Password for', passphrase: 'Passphrase of', sudo_password: 'sudo password for' }[what] ?? what
      return {
        case: 'secret',
        value: await askLine(io, `${problem ? `${problem} ` : ''}${words} ${of}:`, signal, true),
      }
    }
    case 'prompt': {
      const { of, instruction, prompt, problem, echo } = kind.value
      if (!asked) throw new Fault('ssh/code-needed', 'permanent', { address: of, prompt: prompt || instruction })
      const words = [problem, instruction, `${of}: ${prompt || 'answer:'}`].filter(Boolean).join(' ')
      return { case: 'secret', value: await askLine(io, words, signal, !echo) }
    }
    case 'packages': {
      const { missing, command } = kind.value
      const params = { missing: missing.join(', '), command }
      await agreed(
        `The host lacks ${params.missing}. Run "${command}" there?`,
        new Fault('host/packages-missing', 'permanent', params),
      )
      return { case: 'agree', value: true }
    }
    case 'takeOver': {
      const controller = kind.value.controllerName
      await agreed(
        `The host is held by another control plane (${controller}). Take it over?`,
        new Fault('agent/foreign-controller', 'permanent', { controller }),
      )
      return { case: 'agree', value: true }
    }
    default:
      throw new Fault('app/bug', 'bug', { message: 'the task asks something this program does not know' })
  }
}

function missingSecret(what: string, of: string, problem: string): Fault {
  if (what === 'passphrase') return new Fault('ssh/passphrase-wrong', 'permanent', { file: of })
  if (what === 'sudo_password')
    return new Fault('ssh/sudo-refused', 'permanent', { host: of, detail: problem || 'it wants a password' })
  return new Fault('ssh/auth-refused', 'permanent', { address: of })
}
