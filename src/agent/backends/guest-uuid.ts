/** The VM id as the guest's DMI UUID. */
export const guestUuid = (id: string): string =>
  [id.slice(0, 8), id.slice(8, 12), id.slice(12, 16), id.slice(16, 20), id.slice(20)].join('-')
