import { parseArgs } from 'node:util'
import { ensureBuilt, TARGETS } from '../../scripts/build.ts'
import { BROWSER_PARTS, ensureParts, TEST_PARTS, VM_PARTS } from '../../scripts/parts.ts'
import { benchAdopt, benchAgentMemory, benchAppMemory, benchRoundTrip } from './agent.ts'
import { benchAudit } from './audit.ts'
import { benchConsole } from './console.ts'
import { benchCreate, benchCreateToVmm } from './create.ts'
import { benchFleet } from './fleet.ts'
import { type BenchResult, machine } from './measure.ts'
import { benchProxy } from './proxy.ts'
import { benchReport } from './report.ts'
import { benchRows } from './rows.ts'

/** What is measured together, by the names people ask for. */
const GROUPS: { names: string[]; run: (say: (line: string) => void) => Promise<BenchResult[]> }[] = [
  { names: ['create_to_first_byte', 'create_to_prompt'], run: benchCreate },
  { names: ['create_to_vmm'], run: benchCreateToVmm },
  { names: ['adopt_40'], run: benchAdopt },
  { names: ['rpc_round_trip'], run: benchRoundTrip },
  { names: ['agent_pss', 'agent_pss_per_vm'], run: benchAgentMemory },
  { names: ['app_pss'], run: benchAppMemory },
  { names: ['report_1000'], run: benchReport },
  { names: ['audit_page'], run: benchAudit },
  { names: ['fleet_200x50', 'fleet_200x50_cpu', 'fleet_200x50_writes'], run: benchFleet },
  { names: ['console_throughput'], run: benchConsole },
  { names: ['proxy_throughput'], run: benchProxy },
  {
    names: ['rows_10000_scroll_fps', 'rows_10000_filter', 'rows_10000_sort', 'rows_10000_palette', 'rows_10000_heap'],
    run: (say) => benchRows(say, values.long ?? false),
  },
]
const ALL = GROUPS.flatMap(({ names }) => names)

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: 'boolean' }, long: { type: 'boolean' } },
})
const unknown = positionals.filter((name) => !ALL.includes(name))
if (unknown.length > 0) {
  console.error(`Not measured: ${unknown.join(', ')}. There are: ${ALL.join(', ')}`)
  process.exit(2)
}
const wanted = positionals.length > 0 ? positionals : ALL
const say = (line: string) => console.error(line)

await ensureParts([...VM_PARTS, ...BROWSER_PARTS, ...TEST_PARTS])
await ensureBuilt(TARGETS, (target) => say(`build: ${target}`))
const results: BenchResult[] = []
for (const { names, run } of GROUPS) if (names.some((name) => wanted.includes(name))) results.push(...(await run(say)))
const shown = results.filter(({ name }) => wanted.includes(name))
if (values.json) console.log(JSON.stringify({ machine: await machine(), results: shown }, null, 2))
else
  for (const { name, value, unit, reference, reference_value, ratio, target, pass } of shown)
    console.log(
      `${name}: ${value} ${unit}, ${reference}: ${reference_value} ${unit}, ratio ${ratio} (${target}) ${pass ? 'pass' : 'FAIL'}`,
    )
