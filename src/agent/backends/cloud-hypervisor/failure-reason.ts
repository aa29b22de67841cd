import { printable } from '../../../ipc/fault-text.ts'

/** "cloud-hypervisor: 12.3ms: <vmm> ERROR:vmm/src/lib.rs:1 -- text", as its logger writes. */
const LOG_LINE = /^cloud-hypervisor: \S+ <[^>]*> ([A-Z]+):\S+ -- (.*)$/
/** "  0: text" of the error chain it prints at its end. */
const CHAIN_LINE = /^\s+\d+: (.*)$/

/** The error chain cloud-hypervisor printed when it gave up, else its last complaint. Empty = it printed none. */
export function failureReasonOf(log: string): string {
  const lines = log.split('\n').filter((line) => line.trim() !== '')
  const start = lines.findLastIndex((line) => /^Error: /.test(line))
  const chain: string[] = []
  for (const line of start < 0 ? [] : lines.slice(start + 1)) {
    const link = CHAIN_LINE.exec(line)?.[1]
    if (link === undefined) break
    chain.push(link.trim())
  }
  if (chain.length > 0) return printable(chain.join(': '))
  return printable(lines.map(complaintOf).findLast((text) => text !== '') ?? '')
}

function complaintOf(line: string): string {
  const logged = LOG_LINE.exec(line)
  if (!logged) return line.replace(/^Error: /, '')
  return logged[1] === 'ERROR' ? logged[2]! : ''
}
