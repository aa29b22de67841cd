import { writeSync } from 'node:fs'

/** Writes log lines to a file descriptor. A full disk or a reader that left costs the line, never the agent. */
export const logOutput =
  (fd: number) =>
  (line: string): void => {
    try {
      writeSync(fd, line)
    } catch {
      // There is nowhere left to say so.
    }
  }
