import { diskContract } from './disk-contract.ts'
import { qemuRig } from './qemu-rig.ts'
import { vfkitRig } from './vfkit-rig.ts'

diskContract('qemu under TCG', qemuRig, { grows: true })
diskContract('vfkit as played by its peer', vfkitRig, { grows: false })
