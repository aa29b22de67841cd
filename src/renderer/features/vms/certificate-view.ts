import type { HostCertificate } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import type { StateView } from '../../ui/state-word.tsx'
import { certificateWord } from '../trust/view-model.ts'

interface Around {
  /** The fleet's list of revoked ones has its serial. */
  isRevoked: boolean
  /** What became of the CA that signed it. Absent = not known here. */
  ca?: string | undefined
}

/** The one state word of a guest's host certificate. */
export function hostCertificateState(
  { validBefore }: Pick<HostCertificate, 'validBefore'>,
  nowMs: number,
  { isRevoked, ca }: Around,
): StateView {
  if (isRevoked) return { word: 'Revoked', tone: 'bad', detail: 'Who holds the newest list refuses it' }
  const state = certificateWord(validBefore ? { validBefore } : {}, nowMs)
  return state.tone === 'good' && ca === 'retired'
    ? { word: 'Being replaced', tone: 'warn', detail: 'The CA that signed it is retired' }
    : state
}

/** Type, a short tail and the comment of an authorized-key line: enough to tell two apart. */
export function keyWords(line: string): string {
  const [type = '', key = '', ...comment] = line.trim().split(/\s+/)
  const kind = type.replace(/^(ssh-|ecdsa-sha2-)/, '').replace(/^sk-(ssh-)?/, 'hardware ')
  return [kind, key && `…${key.slice(-10)}`, comment.join(' ')].filter(Boolean).join(' ')
}

/** The same key, whatever its comment. */
export const isSameKey = (a: string, b: string): boolean => keyPart(a) === keyPart(b)
const keyPart = (line: string) => line.trim().split(/\s+/).slice(0, 2).join(' ')
