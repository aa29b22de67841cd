import { backendContract } from './backend-contract.ts'
import { chRig } from './cloud-hypervisor-rig.ts'
import { processContract } from './process-contract.ts'

backendContract('cloud-hypervisor with its scripted peer', chRig)
processContract('cloud-hypervisor with its scripted peer', chRig)
