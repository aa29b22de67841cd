import { backendContract } from './backend-contract.ts'
import { processContract } from './process-contract.ts'
import { vfkitRig } from './vfkit-rig.ts'

backendContract('vfkit with its scripted peer', vfkitRig)
processContract('vfkit with its scripted peer', vfkitRig)
