import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { fromConnectError } from '../../../ipc/fault-wire.ts'
import { api } from '../../api/transport.ts'
import { Button } from '../../ui/button.tsx'
import { CopyText } from '../../ui/copy-text.tsx'
import { FaultNotice } from '../../ui/fault-notice.tsx'
import { Facts } from '../../ui/page.tsx'
import { type AddHostDraft, requestOf } from './add-host-draft.ts'
import { sshRows } from './ssh-view.ts'

/** What ssh makes of the picked host, before anything is connected to. */
export function ResolvedWay({ draft }: { draft: AddHostDraft }) {
  const { ssh } = requestOf(draft)
  const [mayRun, setMayRun] = useState(false)
  const way = useQuery({
    queryKey: ['resolved-way', ssh, mayRun],
    queryFn: ({ signal }) => api.hosts.showSsh({ ssh, runMatchExec: mayRun }, { signal }),
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
  })
  return (
    <section aria-label="How it is reached" className="mt-3 rounded-md border border-line bg-bg px-3 py-2.5">
      <h2 className="mb-1.5 font-medium text-dim text-xs">What ssh makes of it. Nothing is connected to yet</h2>
      {way.isPending && (
        <p role="status" className="text-faint">
          Asking ssh for its settings…
        </p>
      )}
      {way.error && (
        <FaultNotice
          fault={fromConnectError(way.error).toData()}
          actions={
            <Button size="small" onClick={() => void way.refetch()}>
              Read it again
            </Button>
          }
        />
      )}
      {way.data?.matchExec && (
        <div className="flex flex-wrap items-center justify-between gap-3">
          <p className="text-warn">
            Your ssh configuration runs commands of its own on this computer when it is read (Match exec).
          </p>
          <Button size="small" onClick={() => setMayRun(true)}>
            Read it, run them
          </Button>
        </div>
      )}
      {way.data && !way.data.matchExec && (
        <>
          <Facts rows={sshRows(way.data)} />
          {way.data.command !== '' && (
            <div className="mt-2">
              <CopyText text={way.data.command} label="Copy the ssh command" />
            </div>
          )}
        </>
      )}
    </section>
  )
}
