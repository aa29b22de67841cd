import os from 'node:os'
import { join } from 'node:path'
import { create } from '@bufbuild/protobuf'
import { type Capacity, CapacitySchema, type HostFacts, HostFactsSchema } from '../../ipc/gen/eitri/agent/v1/host_pb.js'
import { GiB, MiB } from '../../ipc/units.ts'
import { readInstall } from '../install/install-record.ts'
import { type Run, run as runProgram } from '../os/exec.ts'
import { type Acceleration, type ProbeSources, probeAcceleration } from './acceleration-probe.ts'
import { archName, detectInit, diskSpace, findProgram, qemuVersion, readOsName } from './system.ts'

/** Lower bounds a person gave on the command line; absent = the whole machine. */
export interface CapacityCaps {
  vcpus?: number
  memMb?: number
  diskGb?: number
}

export interface HostLookerOptions {
  stateDir: string
  /** Program of the hypervisor, as the backend runs it. */
  hypervisor: string
  /** Programs whose absence is told, beside the hypervisor's. */
  needed: readonly string[]
  /** Finds out what guests run on; absent = by running one under QEMU. Never rejects. */
  probe?: ((sources: ProbeSources) => Promise<Acceleration>) | undefined
  platform?: NodeJS.Platform
  caps?: CapacityCaps
  run?: Run
  signal?: AbortSignal
}

/** Looks at this host. The probe runs once, at the first question that needs it; the rest is fresh each time. */
export class HostLooker {
  readonly #options: HostLookerOptions
  readonly #run: Run
  #probe: Promise<Acceleration> | undefined
  #found: Acceleration = { kind: '', detail: '' }

  constructor(options: HostLookerOptions) {
    this.#options = options
    this.#run = options.run ?? runProgram
  }

  /** What a guest really ran on here. Probed again only when none ran last time. */
  async acceleration(): Promise<Acceleration> {
    if (this.#found.kind !== '') return this.#found
    this.#probe ??= this.#runProbe()
    return await this.#probe
  }

  /** Begins the probe when it is due, and does not wait for it: `acceleration_pending` says that it runs. */
  async host(): Promise<HostFacts> {
    void this.acceleration().catch(() => {})
    return await this.#look()
  }

  /** Facts whose acceleration is what the probe found; the caller bounds its wait. */
  async whole(): Promise<HostFacts> {
    await this.acceleration()
    return await this.#look()
  }

  async #runProbe(): Promise<Acceleration> {
    const { stateDir, hypervisor, probe = probeAcceleration, signal } = this.#options
    try {
      const dir = join(stateDir, 'probe')
      const sources = { run: this.#run, qemu: hypervisor, arch: process.arch, dir, ...(signal ? { signal } : {}) }
      this.#found = await probe(sources)
      return this.#found
    } finally {
      this.#probe = undefined
    }
  }

  async #look(): Promise<HostFacts> {
    const { stateDir, hypervisor, needed, platform = process.platform } = this.#options
    const pending = this.#probe !== undefined
    const accel = this.#found
    const [osName, disk, vmm, missing, install] = await Promise.all([
      readOsName(platform),
      diskSpace(stateDir),
      qemuVersion(hypervisor, this.#run),
      missingPrograms([hypervisor, ...needed]),
      readInstall(stateDir),
    ])
    const cpus = os.cpus()
    return create(HostFactsSchema, {
      hostname: os.hostname(),
      os: osName,
      platform,
      arch: archName(process.arch),
      kernel: os.release(),
      init: detectInit(),
      cpuModel: cpus[0]?.model.trim() ?? '',
      cpus: os.availableParallelism(),
      memBytes: BigInt(os.totalmem()),
      diskBytes: BigInt(disk.bytes),
      diskFreeBytes: BigInt(disk.freeBytes),
      acceleration: vmm === '' ? '' : accel.kind,
      accelerationDetail: accel.detail,
      accelerationPending: pending,
      vmmVersion: vmm,
      missing,
      runsAs: os.userInfo().username,
      startedBy: install?.started_by ?? 'app',
    })
  }

  /** Whole machine or caps, whichever is lower. The disk is what the filesystem of the state directory holds. */
  async capacity(): Promise<Capacity> {
    const { stateDir, caps = {} } = this.#options
    const { bytes } = await diskSpace(stateDir)
    return create(CapacitySchema, {
      vcpus: Math.min(os.availableParallelism(), caps.vcpus ?? Number.POSITIVE_INFINITY),
      memMb: BigInt(Math.min(Math.floor(os.totalmem() / MiB), caps.memMb ?? Number.POSITIVE_INFINITY)),
      diskGb: BigInt(Math.min(Math.floor(bytes / GiB), caps.diskGb ?? Number.POSITIVE_INFINITY)),
    })
  }
}

async function missingPrograms(names: string[]): Promise<string[]> {
  const found = await Promise.all(names.map((name) => findProgram(name)))
  return names.filter((_, i) => found[i] === undefined)
}
