import { writeDurable } from '../os/files.ts'
import { buildIso } from './iso9660.ts'
import { type SeedInput, seedDocuments } from './seed-documents.ts'

/** Volume label by which cloud-init finds the seed. */
const LABEL = 'cidata'

/** Writes the seed medium, whole or not at all. It may hold the guest's host key: mode 0600. */
export async function writeSeed(path: string, input: SeedInput, now: number): Promise<void> {
  await writeDurable('seed.write', path, buildIso(LABEL, seedDocuments(input), new Date(now)), 0o600)
}
