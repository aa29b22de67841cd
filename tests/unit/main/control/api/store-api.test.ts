import { describe, expect, it } from 'vitest'
import { faultText } from '../../../../../src/ipc/fault-text.ts'
import { asFault, Fault } from '../../../../../src/ipc/faults.ts'
import { type StoreApiDeps, storeApi } from '../../../../../src/main/control/api/store-api.ts'

/** A store whose copies end like this. */
const withCopies = (fault: Fault) =>
  storeApi({
    file: '/data/eitri.db',
    stores: {
      db: {
        copyInto: () => {
          throw fault
        },
      },
    },
  } as unknown as StoreApiDeps)
const backUp = async (fault: Fault) =>
  asFault(
    await Promise.resolve()
      .then(() => withCopies(fault).backupStore({ path: '/mnt/copy.db' } as never, {} as never))
      .catch((error: unknown) => error),
  )

describe('a backup that cannot be written', () => {
  it('says where it was to go and why, and that the app’s own data is as it was', async () => {
    const cause = new Error('database or disk is full')
    const fault = await backUp(new Fault('store/unavailable', 'transient', { detail: 'x' }, { cause }))
    expect(fault.code).toBe('store/not-backed-up')
    expect(faultText(fault.code, fault.params)).toEqual({
      what: 'The backup was not written to /mnt/copy.db (database or disk is full).',
      effect: "The app's data is as it was, and nothing is left of the copy.",
      next: 'Make room there, or choose another folder.',
    })
  })

  it('says what is wrong with the path as it is', async () => {
    const refused = new Fault('input/invalid', 'permanent', { field: 'path', problem: 'there is a file of that name' })
    expect(await backUp(refused)).toMatchObject({ code: 'input/invalid', params: refused.params })
  })
})
