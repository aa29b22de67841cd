import type { SshWay } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import { check } from '../../../ipc/rules.ts'
import { keepOf } from '../hosts/secrets.ts'
import type { Keep } from '../tasks/task-context.ts'

/** How to reach a host over SSH; empty text = not given. */
export interface SshInput {
  host: string
  /** Absent = as ssh says. */
  port?: number
  user: string
  identityFile: string
  /** As `ssh -J` has it. */
  jump: string
  acceptHostKey: string
  password: string
  passphrase: string
  useSudo: boolean
  sudoPassword: string
  takeOver: boolean
  installPackages: boolean
  /** Where secrets stay. */
  keep: Keep
  /** It joined by a blob of this store. */
  joined: boolean
}

/** Raises input/invalid. */
export function sshInputOf(way: SshWay): SshInput {
  check('sshWay', way)
  const { $typeName, $unknown, port, ...rest } = way
  return { ...rest, keep: keepOf(way.keep), ...(port === undefined ? {} : { port }) }
}
