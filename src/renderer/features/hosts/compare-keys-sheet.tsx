import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import { msOf } from '../../lib/timestamp.ts'
import { useOwnAct } from '../../ui/sheet-subject.tsx'
import { ChangedKeySheet } from '../tasks/host-key-sheet.tsx'
import { acceptHostKey } from './actions.ts'
import { useShownSsh } from './queries.ts'
import { offeredKey } from './view-model.ts'

/** The key a host of the fleet was accepted with beside the one it answers with now. */
export function CompareKeysSheet({ host, onClose }: { host: Host; onClose: () => void }) {
  const own = useOwnAct()
  const offered = offeredKey(host)
  const ssh = useShownSsh(host)
  if (!offered) return null
  const pinned = ssh.data?.hostKeys.find(({ fingerprint }) => fingerprint === offered.known)
  const replace = async () => {
    if (await own(acceptHostKey(host, offered.fingerprint))) onClose()
  }
  return (
    <ChangedKeySheet
      {...offered}
      knownSinceMs={msOf(pinned?.firstSeen)}
      host={host.name}
      onReplace={() => void replace()}
      onRefuse={onClose}
      onClose={onClose}
    />
  )
}
