import { dirname } from 'node:path'

/** The checkout's folder. */
export const root = dirname(import.meta.dirname)
