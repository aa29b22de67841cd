import { Download } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import { api } from '../../api/transport.ts'
import { formatDate, plural } from '../../lib/format.ts'
import { Button } from '../../ui/button.tsx'
import { toastDone, toastFault } from '../../ui/toasts.tsx'
import type { ActivityQuery } from './audit-query.ts'
import { type Exported, readExport } from './export-trail.ts'
import { NAMES, trailRequest } from './use-trail.ts'

/** Everything the filter leaves, as JSON Lines, in a file of the downloads. */
export function ExportButton({ query }: { query: ActivityQuery }) {
  const [read, setRead] = useState<number>()
  const stop = useRef<AbortController>(undefined)
  useEffect(() => () => stop.current?.abort(), [])
  const run = async () => {
    stop.current = new AbortController()
    setRead(0)
    try {
      const { signal } = stop.current
      const pages = api.audit.exportAudit({ filter: trailRequest(query.trail) }, { signal, timeoutMs: 0 })
      const exported = await readExport(pages, { terms: query.rest, names: NAMES, onRead: setRead })
      save(exported)
      toastDone(exportedWords(exported))
    } catch (error) {
      toastFault(error)
    } finally {
      setRead(undefined)
    }
  }
  return read === undefined ? (
    <Button onClick={() => void run()} title="What the filter leaves, one JSON object a line, oldest first">
      <Download size={14} aria-hidden />
      Export
    </Button>
  ) : (
    <Button onClick={() => stop.current?.abort()}>Cancel · {plural(read, 'entry', 'entries')} read</Button>
  )
}

function exportedWords({ entries, cut }: Exported): string {
  const said = `Exported ${plural(entries, 'entry', 'entries')}`
  return cut ? `${said}, the oldest; one file holds no more. "eitri audit --export FILE" writes all.` : said
}

function save({ parts }: Exported): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob(parts, { type: 'application/jsonl' }))
  link.download = `eitri-activity-${formatDate(new Date())}.jsonl`
  link.click()
  URL.revokeObjectURL(link.href)
}
