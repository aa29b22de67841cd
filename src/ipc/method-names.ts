/** Calls that change nothing of the store, by how their names begin. */
const LOOKS = /^(Get|List|Watch|Check|Find|Preview|Probe|Export|Show)[A-Z]/

/** Whether a call only looks: it may be made as often as anybody likes. Of the fleet's API. */
export const onlyLooks = (method: string): boolean => LOOKS.test(method)
