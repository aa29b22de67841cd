import { FileText } from 'lucide-react'
import { useRef } from 'react'
import { Button } from '../../ui/button.tsx'

/** No key is longer. */
const MOST_BYTES = 64 * 1024

/** Reads a small text file of this computer into a field. */
export function FileButton({ label, onText }: { label: string; onText: (text: string) => void }) {
  const input = useRef<HTMLInputElement>(null)
  return (
    <>
      <input
        ref={input}
        type="file"
        hidden
        onChange={(e) => {
          const file = e.target.files?.[0]
          if (file) void file.slice(0, MOST_BYTES).text().then(onText)
          e.target.value = ''
        }}
      />
      <Button size="small" onClick={() => input.current?.click()}>
        <FileText size={13} aria-hidden />
        {label}
      </Button>
    </>
  )
}
