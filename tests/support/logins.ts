import fs from 'node:fs'

/** Sign-ins an sshd has let in since it was first started, by its own log. */
export const loginsOf = ({ logFile }: { logFile: string }): number =>
  fs.readFileSync(logFile, 'utf8').match(/^Accepted \S+ for /gm)?.length ?? 0
