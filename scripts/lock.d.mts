export function takeLock(file: string, waitMs: number): () => void
