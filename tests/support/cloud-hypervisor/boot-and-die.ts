// An agent in one act: boots the guest of the state directory given, says so, and is killed or ends.
import { mkdir } from 'node:fs/promises'
import { agentLayout } from '../../../src/agent/records/layout.ts'
import { bootFirst, VM_ID } from '../../contract/backend/boot-first.ts'
import { chRig } from '../../contract/backend/cloud-hypervisor-rig.ts'

const [stateDir = '', end] = process.argv.slice(2)
const rig = await chRig(stateDir)
const vm = agentLayout(stateDir).vmDir(VM_ID)
await mkdir(vm.dir, { recursive: true })
await bootFirst(rig, vm)
if (end === 'killed') process.kill(process.pid, 'SIGKILL')
await rig.close()
process.exit(0)
