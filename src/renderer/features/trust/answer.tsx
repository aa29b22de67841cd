import { ShieldCheck } from 'lucide-react'
import type { ReactNode } from 'react'
import { fromConnectError } from '../../../ipc/fault-wire.ts'
import { Button } from '../../ui/button.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { FaultNotice } from '../../ui/fault-notice.tsx'

interface Query<T> {
  data: T | undefined
  error: Error | null
  refetch: () => unknown
}

/** What was asked for once it is there; till then what is waited for, or why it did not come. */
export function Answer<T>({
  query,
  waiting,
  children,
}: {
  query: Query<T>
  /** The step that takes time, as a sentence. */
  waiting: string
  children: (data: T) => ReactNode
}) {
  if (query.data !== undefined) return children(query.data)
  if (query.error)
    return (
      <div className="p-5">
        <FaultNotice
          fault={fromConnectError(query.error).toData()}
          actions={
            <Button size="small" onClick={() => void query.refetch()}>
              Try again
            </Button>
          }
        />
      </div>
    )
  return (
    <EmptyState icon={ShieldCheck} title={waiting}>
      <p>The control plane opens the keys first; a keychain may ask you.</p>
    </EmptyState>
  )
}
