import { Check, Copy } from 'lucide-react'
import { useEffect, useState } from 'react'
import { IconButton } from './button.tsx'

const SAID_MS = 1500

/** One line of text to take along, with its copy button. */
export function CopyText({ text, label = 'Copy' }: { text: string; label?: string }) {
  return (
    <div className="flex items-center gap-2 rounded-md border border-line bg-bg py-1 pr-1 pl-3">
      <code className="min-w-0 flex-1 break-all py-1 font-mono text-xs leading-5">{text}</code>
      <CopyButton text={text} label={label} />
    </div>
  )
}

/** Whether something was copied just now, and the act that copies. */
export function useCopied(): [copied: boolean, copy: (text: string) => void] {
  const [copied, setCopied] = useState(false)
  useEffect(() => {
    if (!copied) return
    const timer = setTimeout(() => setCopied(false), SAID_MS)
    return () => clearTimeout(timer)
  }, [copied])
  return [copied, (text) => void navigator.clipboard.writeText(text).then(() => setCopied(true))]
}

export function CopyButton({ text, label }: { text: string; label: string }) {
  const [copied, copy] = useCopied()
  return (
    <IconButton className="-my-1" label={copied ? 'Copied' : label} onClick={() => copy(text)}>
      {copied ? <Check size={14} aria-hidden className="text-good" /> : <Copy size={14} aria-hidden />}
    </IconButton>
  )
}
