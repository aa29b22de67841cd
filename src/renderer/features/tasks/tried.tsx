import type { Task } from '../../../ipc/gen/eitri/fleet/v1/task_pb.js'
import { triedSoFar } from './view-model.ts'

/** What was tried at the sign-in before a person was asked. */
export function Tried({ task }: { task: Task }) {
  const tried = triedSoFar(task)
  if (tried.length === 0) return null
  return (
    <p className="mt-2 text-faint text-xs">
      So far: <span className="text-dim">{tried.join(', then ')}</span>
    </p>
  )
}
