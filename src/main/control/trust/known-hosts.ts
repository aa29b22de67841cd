import type { CaRow } from '../store/cas-store.ts'
import type { VmRow } from '../store/vm-row.ts'
import { hostNames } from './host-certificates.ts'
import { canonicalLine, parsePublicKey } from './openssh/public-key.ts'

/**
 * Lines of a known_hosts file that make a client trust exactly this VM under its names: the host CAs in use, and the key
 * its host reported, for a guest whose certificate has ended or that has none.
 */
export function knownHostsOf(
  vm: Pick<VmRow, 'tenant' | 'name' | 'hostPublicKey'>,
  hostCas: readonly CaRow[],
): string[] {
  const names = hostNames(vm).join(',')
  const key = parsePublicKey(vm.hostPublicKey)
  return [
    ...hostCas.map(({ publicKey }) => `@cert-authority ${names} ${publicKey}`),
    ...(key ? [`${names} ${canonicalLine(key.blob)}`] : []),
  ]
}
