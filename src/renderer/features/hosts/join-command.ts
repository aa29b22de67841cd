/** What is run on the host, as root: the blob comes by standard input, so that no list of processes shows it. */
export const joinCommand = (blob: string): string => `eitri-agent join - <<'END'\n${blob}\nEND`
