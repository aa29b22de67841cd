import { resolve } from 'node:path'
import { isSea } from 'node:sea'

/** What runs now: the single executable, a bundle under some Node, or the sources. */
export interface RunningProgram {
  kind: 'executable' | 'bundle' | 'source'
  /** The file to copy; for sources the entry, which stays where it is. */
  file: string
  node: string
}

/** Which of the three this process is; asks the runtime, never the name it was called by. */
export function runningProgram(): RunningProgram {
  if (isSea()) return { kind: 'executable', file: process.execPath, node: process.execPath }
  const file = resolve(process.argv[1] ?? '')
  return { kind: file.endsWith('.ts') ? 'source' : 'bundle', file, node: process.execPath }
}

/** How to run it again from where it lies now. */
export const commandOf = ({ kind, file, node }: RunningProgram): string[] =>
  kind === 'executable' ? [file] : [node, file]

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

/** A script that runs a bundle or the sources as if they were the executable. */
export const wrapperScript = (node: string, file: string): string =>
  `#!/bin/sh\nexec ${quoted(node)} ${quoted(file)} "$@"\n`
