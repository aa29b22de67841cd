import { useState } from 'react'
import type { Tenant } from '../../../ipc/gen/eitri/fleet/v1/tenant_pb.js'
import { plural } from '../../lib/format.ts'
import { hrefOf } from '../../routes.ts'
import { useFleet } from '../../state/use-fleet.ts'
import { setGrace } from './actions.ts'
import { Confirm, Reading } from './confirm.tsx'
import { DEFAULT_GRACE_S, graceChoices, graceEffect, graceWords } from './periods.ts'
import { useTenants } from './queries.ts'
import { Setting, SettingGroup, shortInput } from './setting.tsx'

export function QuarantinePart() {
  const { data: tenants, isError, refetch } = useTenants()
  const kept = useFleet((f) => [...f.vms.values()].filter((vm) => vm.deletedAt).length)
  return (
    <SettingGroup
      title="Quarantine"
      about="A deleted VM stops, and its disk waits here for you to change your mind. Its address stays its own; its name is free."
    >
      {tenants ? (
        tenants.map((tenant, i) => <Grace key={tenant.name} tenant={tenant} first={i === 0} />)
      ) : (
        <Reading what="The tenants" failed={isError} onAgain={() => void refetch()} />
      )}
      <p className="py-3 text-dim">
        {kept === 0 ? 'Nothing is in quarantine now.' : `${plural(kept, 'VM is', 'VMs are')} in quarantine now. `}
        {kept > 0 && (
          <a href={hrefOf({ page: 'vms', filter: 'state:quarantine' })} className="text-accent underline">
            Show
          </a>
        )}
      </p>
    </SettingGroup>
  )
}

function Grace({ tenant, first }: { tenant: Tenant; first: boolean }) {
  const current = tenant.limits?.graceS ?? DEFAULT_GRACE_S
  const [asked, setAsked] = useState(false)
  const label = `How long deleted VMs of ${tenant.name} are kept`
  return (
    <>
      <Setting {...(first ? { id: 'grace' } : {})} label={label} hint={graceEffect(current)}>
        <select
          aria-label={label}
          value={current}
          onChange={(event) => {
            const next = Number(event.target.value)
            if (next === 0) setAsked(true)
            else void setGrace(tenant.name, next)
          }}
          className={shortInput}
        >
          {graceChoices(current).map((s) => (
            <option key={s} value={s}>
              {graceWords(s)}
              {s === DEFAULT_GRACE_S ? ' (default)' : ''}
            </option>
          ))}
        </select>
      </Setting>
      {asked && (
        <Confirm
          title={`Delete VMs of ${tenant.name} without quarantine?`}
          act="Delete at once from now on"
          onAct={() => void setGrace(tenant.name, 0)}
          onClose={() => setAsked(false)}
        >
          <p>{graceEffect(0)}</p>
        </Confirm>
      )}
    </>
  )
}
