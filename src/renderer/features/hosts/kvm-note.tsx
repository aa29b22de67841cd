import { TriangleAlert } from 'lucide-react'
import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import { CopyText } from '../../ui/copy-text.tsx'
import { kvmWords } from './kvm-words.ts'

/** Said where a host was just added, or a VM is about to be made on it: nothing where its guests run with KVM. */
export function KvmNote({ host }: { host: Host }) {
  const words = kvmWords(host)
  if (!words) return null
  return (
    <div
      role="note"
      aria-label="No KVM"
      className="flex items-start gap-2.5 rounded-md border border-warn/40 bg-warn/6 px-3 py-2.5"
    >
      <TriangleAlert size={16} aria-hidden className="mt-0.5 shrink-0 text-warn" />
      <div className="min-w-0 flex-1 break-words">
        <p className="font-medium">{words.what}</p>
        <p className="text-dim">{[words.effect, words.next].filter(Boolean).join(' ')}</p>
        {words.command !== '' && (
          <div className="mt-1.5">
            <CopyText text={words.command} label="Copy the command" />
          </div>
        )}
      </div>
    </div>
  )
}
