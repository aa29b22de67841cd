import { printable } from '../../ipc/fault-text.ts'
import { Fault } from '../../ipc/faults.ts'
import type { CheckCloudInitResponse } from '../../ipc/gen/eitri/fleet/v1/cloud_init_pb.js'

/** One line a finding, as compilers write them. */
export const findingLines = (file: string, { findings }: CheckCloudInitResponse): string[] =>
  findings.map(({ line, severity, what, fix }) => `${printable(file)}:${line}: ${severity}: ${what}. ${fix}`)

/** Raises cloud-init/invalid where one of the findings is an error. */
export function refuseErrors(file: string, { findings }: CheckCloudInitResponse): void {
  const errors = findings.filter(({ severity }) => severity === 'error')
  const [first] = errors
  if (!first) return
  const { line, what, fix } = first
  throw new Fault('cloud-init/invalid', 'permanent', {
    file,
    line: `${line}`,
    problem: what,
    fix,
    errors: `${errors.length}`,
  })
}
