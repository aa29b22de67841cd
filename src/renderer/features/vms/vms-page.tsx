import { Monitor, Plus } from 'lucide-react'
import { useCallback, useMemo, useState } from 'react'
import { create } from 'zustand'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { plural } from '../../lib/format.ts'
import { RowCount } from '../../lib/row-count.ts'
import { hrefOf, replaceRoute } from '../../routes.ts'
import { useMinute } from '../../state/now.ts'
import { setPreference, usePreferences } from '../../state/preferences.ts'
import { useScopedHosts, useScopedVms } from '../../state/scope.ts'
import { useFilteredRows } from '../../state/use-filtered.ts'
import { useFleet, useFleetShallow, useVms } from '../../state/use-fleet.ts'
import { Button, buttonClass } from '../../ui/button.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { FilterBox } from '../../ui/filter-box.tsx'
import { Page, PageTitle } from '../../ui/page.tsx'
import { ViewToggle } from '../../ui/view-toggle.tsx'
import { BulkLabels } from './bulk-labels.tsx'
import type { BulkAct } from './bulk-plan.ts'
import { BulkRuns } from './bulk-runs.tsx'
import { BulkSheet } from './bulk-sheet.tsx'
import { NoVms } from './no-vms.tsx'
import { VM_FILTER_FIELDS, vmFilterRecord } from './view-model.ts'
import { VmsView } from './vms-view.tsx'

const VIEWS = [
  { id: 'list', label: 'List' },
  { id: 'tree', label: 'Tree' },
] as const

export function VmsPage({ filter }: { filter: string }) {
  const all = useVms().length
  const vms = useScopedVms()
  const hosts = useScopedHosts()
  const shown = useShown(vms, filter)
  const view = usePreferences((p) => p.vmsView)
  const selected = useSelection()
  const [bulk, setBulk] = useState<{ act: BulkAct; ids: readonly string[] }>()
  const setFilter = useCallback((text: string) => replaceRoute({ page: 'vms', filter: text }), [])
  const sheet = bulk && {
    ids: bulk.ids,
    onClose: () => setBulk(undefined),
    onDone: (asked: readonly string[]) => choose(new Set([...selected].filter((id) => !asked.includes(id)))),
  }
  return (
    <Page
      title={<Title vms={vms} shown={shown.length} isFiltered={filter !== ''} />}
      filter={
        vms.length > 0 && (
          <FilterBox
            value={filter}
            onFilter={setFilter}
            fields={VM_FILTER_FIELDS}
            example="web state:running -host:edge"
          />
        )
      }
      actions={
        <>
          {vms.length > 0 && (
            <ViewToggle
              label="How VMs are shown"
              views={VIEWS}
              value={view}
              onView={(v) => setPreference('vmsView', v)}
            />
          )}
          <a href={hrefOf({ page: 'create-vm', host: '' })} className={buttonClass('primary')}>
            <Plus size={15} aria-hidden />
            Create VM
          </a>
        </>
      }
    >
      {vms.length === 0 ? (
        <NoVms isScoped={all > 0} />
      ) : (
        <VmsView
          {...{ view, filter, hosts, selected }}
          vms={shown}
          onSelect={choose}
          onBulk={setBulk}
          none={<NoMatch hidden={vms.length} onClear={() => setFilter('')} />}
        />
      )}
      <BulkRuns />
      {sheet && (bulk.act.do === 'labels' ? <BulkLabels {...sheet} /> : <BulkSheet {...sheet} act={bulk.act} />)}
    </Page>
  )
}

function NoMatch({ hidden, onClear }: { hidden: number; onClear: () => void }) {
  return (
    <EmptyState icon={Monitor} title="No VM matches">
      <p>
        {plural(hidden, 'VM')} {hidden === 1 ? 'is' : 'are'} hidden by the filter.
      </p>
      <Button onClick={onClear}>Clear the filter</Button>
    </EmptyState>
  )
}

const useChosen = create<{ ids: ReadonlySet<string> }>(() => ({ ids: new Set() }))
const choose = (ids: ReadonlySet<string>) => useChosen.setState({ ids })

/** What is chosen, also after another page was looked at. A VM that is gone is chosen no more. */
function useSelection(): ReadonlySet<string> {
  const chosen = useChosen((c) => c.ids)
  const gone = useFleetShallow((f) => [...chosen].filter((id) => !f.vms.has(id)))
  return useMemo(
    () => (gone.length === 0 ? chosen : new Set([...chosen].filter((id) => !gone.includes(id)))),
    [chosen, gone],
  )
}

/** State words with a clock time in them only change with the data; a minute is fine enough for matching them. */
function useShown(vms: readonly Vm[], filter: string): readonly Vm[] {
  return useFilteredRows(vms, { filter, fields: VM_FILTER_FIELDS, record: vmFilterRecord, epoch: useMinute() })
}

const isAlive = (vm: Vm) => vm.deletedAt === undefined

function Title({ vms, shown, isFiltered }: { vms: readonly Vm[]; shown: number; isFiltered: boolean }) {
  const told = useFleet((f) => f.revision !== undefined)
  const [living] = useState(() => new RowCount(isAlive))
  const alive = living.update(vms)
  const held = vms.length - alive
  const whole = held === 0 ? `${alive}` : `${alive}, and ${held} in quarantine`
  const count = isFiltered ? `${shown} of ${vms.length}` : whole
  return <PageTitle {...(told && vms.length > 0 ? { count } : {})}>VMs</PageTitle>
}
