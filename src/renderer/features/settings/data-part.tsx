import { useState } from 'react'
import type { GetStoreResponse } from '../../../ipc/gen/eitri/fleet/v1/store_pb.js'
import { useInfo } from '../../api/queries.ts'
import { formatBytes, formatTime } from '../../lib/format.ts'
import { msOf } from '../../lib/timestamp.ts'
import { hrefOf } from '../../routes.ts'
import { Button } from '../../ui/button.tsx'
import { CopyButton } from '../../ui/copy-text.tsx'
import { type StateView, StateWord } from '../../ui/state-word.tsx'
import { setRetention } from './actions.ts'
import { BackupSheet } from './backup-sheet.tsx'
import { Confirm, Reading } from './confirm.tsx'
import { isShorter, retentionChoices, retentionWords } from './periods.ts'
import { useRetention, useStoreState } from './queries.ts'
import { RebuildStore } from './rebuild-store.tsx'
import { Setting, SettingGroup, shortInput, Told } from './setting.tsx'

const STATES: Record<string, StateView> = {
  '': { word: 'Whole', tone: 'good' },
  damaged: { word: 'Damaged, reading only', tone: 'bad' },
  disk_full: { word: 'Disk full', tone: 'bad' },
  older_than_hosts: { word: "Older than hosts' data", tone: 'warn' },
}

export function DataPart() {
  const { data: store, isError, refetch } = useStoreState()
  const { data: info } = useInfo()
  const [backup, setBackup] = useState(false)
  return (
    <>
      <SettingGroup
        title="Where your data is"
        about="On this computer alone. Hosts keep what they need to go on without it."
      >
        <Setting id="folder" label="Data folder" hint="Chosen when the app starts: eitri --data-dir names another.">
          <Told mono>{info?.dataDir ?? 'Reading…'}</Told>
          {info && <CopyButton text={info.dataDir} label="Copy the path" />}
        </Setting>
        {store ? (
          <StoreRows store={store} />
        ) : (
          <Reading what="The store" failed={isError} onAgain={() => void refetch()} />
        )}
        <Setting id="backup" label="Backup" hint="A whole copy while everything goes on. Private keys are not in it.">
          <Button onClick={() => setBackup(true)}>Back up now…</Button>
        </Setting>
      </SettingGroup>
      {store && <Copies store={store} />}
      <Retention />
      {backup && <BackupSheet dataDir={info?.dataDir ?? ''} onClose={() => setBackup(false)} />}
    </>
  )
}

function StoreRows({ store }: { store: GetStoreResponse }) {
  const words = [store.readOnlyReason, ...store.lost].filter(Boolean).join(' ')
  const ahead =
    store.hostsAhead.length === 0 ? '' : `Hosts that have seen newer data: ${store.hostsAhead.join(', ')}. See Fleet.`
  return (
    <>
      <Setting
        label="Store"
        hint={words || ahead || `Schema ${store.schema}, ${store.writes} rows written since start.`}
      >
        <StateWord state={STATES[store.problem] ?? { word: store.problem, tone: 'warn' }} />
        <Told>{formatBytes(store.sizeBytes)}</Told>
        <CopyButton text={store.path} label="Copy the path of the store" />
      </Setting>
      {store.problem === 'damaged' && <RebuildStore />}
    </>
  )
}

function Copies({ store }: { store: GetStoreResponse }) {
  return (
    <SettingGroup
      title="Copies"
      about="Made by you, and by the app before it changes its schema. Put one back with eitri restore, while the app is stopped."
    >
      {store.copies.length === 0 ? (
        <p className="py-3 text-dim">There is none yet.</p>
      ) : (
        <ul className="max-h-72 divide-y divide-line overflow-y-auto" aria-label="Copies of the store">
          {store.copies.map(({ path, sizeBytes, madeAt }) => {
            const at = msOf(madeAt)
            return (
              <li key={path} className="flex items-center gap-3 py-2">
                <span className="min-w-0 flex-1 truncate font-mono text-xs" title={path}>
                  {path}
                </span>
                <span className="shrink-0 text-faint text-xs">
                  {formatBytes(sizeBytes)}
                  {at === undefined ? '' : ` · ${formatTime(new Date(at), new Date())}`}
                </span>
                <CopyButton text={path} label="Copy the path" />
              </li>
            )
          })}
        </ul>
      )}
    </SettingGroup>
  )
}

function Retention() {
  const { data: days, isError, refetch } = useRetention()
  const [asked, setAsked] = useState<number>()
  return (
    <SettingGroup title="Activity">
      {days === undefined ? (
        <Reading what="How long activity is kept" failed={isError} onAgain={() => void refetch()} />
      ) : (
        <Setting
          id="retention"
          label="How long activity is kept"
          hint={
            <>
              Of all tenants. Entries are never changed, only removed by age.{' '}
              <a href={hrefOf({ page: 'activity', filter: '' })} className="text-accent underline">
                Show activity
              </a>
            </>
          }
        >
          <select
            aria-label="How long activity is kept"
            value={days}
            onChange={(event) => {
              const next = Number(event.target.value)
              if (isShorter(next, days)) setAsked(next)
              else void setRetention(next)
            }}
            className={shortInput}
          >
            {retentionChoices(days).map((one) => (
              <option key={one} value={one}>
                {retentionWords(one)}
              </option>
            ))}
          </select>
        </Setting>
      )}
      {asked !== undefined && (
        <Confirm
          title={`Keep activity ${retentionWords(asked)}?`}
          act="Remove older entries"
          onAct={() => void setRetention(asked)}
          onClose={() => setAsked(undefined)}
        >
          <p>Entries older than {retentionWords(asked)} are removed now, and nothing brings them back.</p>
          <p className="mt-1 text-dim">To keep them elsewhere, export them from Activity first.</p>
        </Confirm>
      )}
    </SettingGroup>
  )
}
