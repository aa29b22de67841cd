import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type {
  BundleFile,
  PreviewBundleResponse,
  WriteBundleResponse,
} from '../../../ipc/gen/eitri/fleet/v1/support_pb.js'
import { queryClient } from '../../api/queries.ts'
import { api } from '../../api/transport.ts'
import { formatBytes, formatMoment, plural } from '../../lib/format.ts'
import { msOf } from '../../lib/timestamp.ts'
import { useNow } from '../../state/now.ts'
import { Button } from '../../ui/button.tsx'
import { CopyText } from '../../ui/copy-text.tsx'
import { TextField } from '../../ui/field.tsx'
import { writeBundle } from './actions.ts'
import { Reading } from './confirm.tsx'
import { Setting, SettingGroup, Told } from './setting.tsx'
import { redactedWords } from './support-words.ts'

export function SupportPart() {
  const [wanted, setWanted] = useState(false)
  return (
    <>
      <SettingGroup
        title="Support bundle"
        about="What helps somebody to help you, in one file on this computer. You see all of it first; the app sends it nowhere."
      >
        {wanted ? (
          <Bundle />
        ) : (
          <Setting
            id="bundle"
            label="What is in it"
            hint="Versions, states, faults, tasks, the newest activity and the end of the log. No names, addresses, secrets or user-data: labels such as host-1 stand for them."
          >
            <Button look="primary" onClick={() => setWanted(true)}>
              Show what it would hold
            </Button>
          </Setting>
        )}
      </SettingGroup>
      <SettingGroup title="Telemetry">
        <Setting
          id="telemetry"
          label="None"
          hint="This app sends nothing about you, your hosts or your VMs to anybody, and there is no switch that makes it."
        >
          <Told>Off, always</Told>
        </Setting>
      </SettingGroup>
    </>
  )
}

const PREVIEW = ['support', 'preview']

function Bundle() {
  const now = useNow()
  const { data, isError, isFetching, refetch } = useQuery({
    queryKey: PREVIEW,
    queryFn: () =>
      api.support.previewBundle({
        insteadOf: queryClient.getQueryData<PreviewBundleResponse>(PREVIEW)?.previewId ?? '',
      }),
    // What is seen is what is written: it does not change under the eyes of who reads it.
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnWindowFocus: false,
    refetchOnMount: 'always',
  })
  const [without, setWithout] = useState<ReadonlySet<string>>(new Set())
  const [path, setPath] = useState<string>()
  const [busy, setBusy] = useState(false)
  const [written, setWritten] = useState<WriteBundleResponse>()
  if (!data || (isFetching && !written && data.files.length === 0))
    return <Reading what="What the bundle would hold" failed={isError} onAgain={() => void refetch()} />
  const target = path ?? data.suggestedPath
  const kept = data.files.filter(({ name }) => !without.has(name))
  const until = msOf(data.keptUntil)
  const isOver = until !== undefined && now > until
  const toggle = (name: string) => {
    const next = new Set(without)
    if (!next.delete(name)) next.add(name)
    setWithout(next)
    setWritten(undefined)
  }
  const write = async () => {
    setBusy(true)
    setWritten(await writeBundle({ path: target, without: [...without], previewId: data.previewId }))
    setBusy(false)
  }
  return (
    <>
      <ul aria-label="Files of the bundle" className="divide-y divide-line">
        {data.files.map((file) => (
          <FileRow key={file.name} file={file} kept={!without.has(file.name)} onToggle={() => toggle(file.name)} />
        ))}
      </ul>
      <div className="grid gap-3 py-3">
        <TextField
          label="New file on the computer that Eitri runs on"
          hint="Only you can read it. No file is replaced."
          problem={target.startsWith('/') ? undefined : 'use an absolute path'}
          value={target}
          onChange={(event) => {
            setPath(event.target.value)
            setWritten(undefined)
          }}
        />
        <div className="flex flex-wrap items-center gap-2">
          <Button
            look="primary"
            disabled={busy || isOver || kept.length === 0 || !target.startsWith('/')}
            onClick={() => void write()}
          >
            {busy ? 'Writing it…' : `Write ${plural(kept.length, 'file')}`}
          </Button>
          <Button
            disabled={isFetching}
            onClick={() => {
              setWritten(undefined)
              void refetch()
            }}
          >
            {isFetching ? 'Looking again…' : 'Look again'}
          </Button>
          <span role={isOver ? 'status' : undefined} className={isOver ? 'text-warn' : 'text-dim text-xs'}>
            {isOver
              ? 'What is shown here is not kept any more: look again, and write that.'
              : `Exactly what is shown here is written${until === undefined ? '' : `, until ${formatMoment(new Date(until), new Date(now))}`}.`}
          </span>
        </div>
        {written && (
          <div role="status" className="grid gap-2">
            <p>Written, {formatBytes(written.sizeBytes)}. Look it over once more before you send it.</p>
            <CopyText text={written.path} label="Copy the path" />
            <CopyText text={`sha256 ${written.sha256}`} label="Copy the digest" />
          </div>
        )}
      </div>
    </>
  )
}

function FileRow({ file, kept, onToggle }: { file: BundleFile; kept: boolean; onToggle: () => void }) {
  const { name, about, sizeBytes, redacted, text, cut } = file
  return (
    <li className="py-2.5">
      <div className="flex items-start gap-3">
        <input
          type="checkbox"
          aria-label={`Put ${name} into the bundle`}
          checked={kept}
          onChange={onToggle}
          className="mt-0.5 size-4 shrink-0 accent-accent"
        />
        <div className="min-w-0 flex-1">
          <p className="flex flex-wrap items-baseline justify-between gap-x-4">
            <span className={kept ? 'font-medium' : 'text-faint line-through'}>{name}</span>
            <span className="text-faint text-xs">{kept ? formatBytes(sizeBytes) : 'left out'}</span>
          </p>
          <p className="text-dim">{about}</p>
          <p className="text-faint text-xs leading-5">Taken out: {redactedWords(redacted)}</p>
          <details className="mt-1">
            <summary className="w-fit text-accent hover:underline">Show {name}</summary>
            {cut && <p className="mt-1 text-faint text-xs">Its end; what comes before it is made the same way.</p>}
            <pre
              role="region"
              // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and the keyboard must reach it
              tabIndex={0}
              aria-label={`Text of ${name}`}
              className="mt-1 max-h-80 overflow-auto whitespace-pre-wrap break-words rounded-md border border-line bg-bg p-3 font-mono text-xs leading-5"
            >
              {text}
            </pre>
          </details>
        </div>
      </div>
    </li>
  )
}
