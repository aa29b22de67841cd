/** What is run on the host, as root: the shell itself writes the blob to standard input, so no list of processes shows it. */
export const joinCommand = (blob: string): string => `printf '%s\\n' '${blob}' | eitri-agent join -`
