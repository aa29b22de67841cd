import { create, toBinary } from '@bufbuild/protobuf'
import { fitReport } from '../../src/agent/rpc/report-fit.ts'
import { ReportSchema } from '../../src/ipc/gen/eitri/agent/v1/sync_pb.js'
import { TombstoneSchema, type VmSpec } from '../../src/ipc/gen/eitri/agent/v1/vm_pb.js'
import { aVm, Rig } from '../unit/agent/reconcile/rig.ts'
import { type BenchResult, quantile, result } from './measure.ts'

const VMS = 1_000
const ROUNDS = 200
const WARM_UP = 20
/** Of a report, ms. */
const TARGET_MS = 20

function timed(work: () => unknown): number {
  const started = performance.now()
  work()
  return performance.now() - started
}

/** Building the report of a host with 1,000 VMs, all at work, 100 of them unowned and 100 in quarantine. */
export async function benchReport(say: (line: string) => void): Promise<BenchResult[]> {
  await using rig = await Rig.open({ many: true })
  const vms = Array.from({ length: VMS }, (_, i) =>
    aVm({
      vmId: i.toString(16).padStart(32, '0'),
      name: `vm-${i}`,
      sshAuthorizedKeys: [`ssh-ed25519 ${'A'.repeat(68)} person-${i}`],
      cloudInit: Buffer.alloc(1_000, 'x'),
    }),
  )
  await rig.want(...vms)
  const release = rig.backend.hold('shutdown')
  const deleted = (vm: VmSpec) => aVm({ ...vm, tombstone: create(TombstoneSchema, { graceS: 86_400n }) })
  const stopped = (vm: VmSpec) => aVm({ ...vm, powerState: 'stopped' })
  await rig.send(vms.slice(100).map((vm, i) => (i < 100 ? deleted(vm) : stopped(vm))))
  await new Promise((resolve) => setImmediate(resolve))
  const built: number[] = []
  const encoded: number[] = []
  for (let i = 0; i < WARM_UP + ROUNDS; i++) {
    const ms = timed(() => fitReport(rig.engine.report()))
    const report = rig.engine.report()
    const encoding = timed(() => toBinary(ReportSchema, report))
    if (i < WARM_UP) continue
    built.push(ms)
    encoded.push(encoding)
  }
  release()
  const report = rig.engine.report()
  say(
    `report_1000: ${report.vms.length} rows, ${report.quarantined.length} quarantined, p50 ${quantile(built, 0.5)} ms`,
  )
  const reference = { what: 'encoding it, p95', value: quantile(encoded, 0.95) }
  return [result('report_1000', 'ms', [quantile(built, 0.95), reference], { valueAtMost: TARGET_MS })]
}
