import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { inspect, isDeepStrictEqual } from 'node:util'
import { type Sight, violations } from '../referee.ts'
import { Round, rowIs, STEPS, type Step, startAgain, Victim, type VictimState, WAYS } from './crash-steps.ts'
import { bundleAgent, CrashWorld } from './crash-world.ts'
import type { Link } from './link.ts'

/** A place a step reaches, `name:phase`. */
export interface Reached {
  step: Step | 'first start'
  place: string
}

/** What heals by itself does so within this. */
const HEAL_MS = 10_000

/** Longest a step may take, a busy machine included. */
const STEP_MS = 60_000

/** One host on which the agent is killed at every step of everything that can happen there. */
export class CrashRun implements AsyncDisposable {
  readonly #dir: string
  readonly #bundle: string
  #world!: CrashWorld
  #victim = new Victim()
  #bystander = new Victim()

  private constructor(dir: string) {
    this.#dir = dir
    this.#bundle = join(dir, 'agent.cjs')
  }

  /** A host whose agent runs one VM nobody ever touches. */
  static async open(): Promise<CrashRun> {
    const run = new CrashRun(mkdtempSync(join(tmpdir(), 'eitri-crash-run-')))
    await bundleAgent(run.#bundle)
    await run.#begin()
    return run
  }

  /** Every place the agent reaches on a new host and in every step, in order. */
  async record(): Promise<Reached[]> {
    const first = await this.#recordFirstStart()
    const reached: Reached[] = first.map((place) => ({ step: 'first start', place }))
    const atStart = new Set<string>()
    // What every start reaches belongs to the step that is a start.
    for (const step of [...STEPS].sort((a, b) => Number(isStart(b)) - Number(isStart(a)))) {
      const places = await this.#recordStep(step)
      reached.push(...places.filter((place) => isStart(step) || !atStart.has(place)).map((place) => ({ step, place })))
      if (isStart(step)) for (const place of places) atStart.add(place)
    }
    return reached
  }

  /** Kills the agent there, starts it again, and says what is not as it must be. */
  async crash({ step, place }: Reached): Promise<string[]> {
    const crashing = step === 'first start' ? this.#crashFirstStart(place) : this.#crashStep(step, place)
    const found = await crashing.catch(async (error: unknown) => {
      await this.#world[Symbol.asyncDispose]()
      await this.#begin()
      return [`it came to no end: ${error instanceof Error ? error.message : String(error)}`]
    })
    return found.map((what) => `${step === 'first start' ? step : step.name}, ${place}: ${what}`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#world[Symbol.asyncDispose]()
    rmSync(this.#dir, { recursive: true, force: true })
  }

  async #begin(): Promise<void> {
    this.#world = new CrashWorld(this.#bundle)
    this.#victim = new Victim()
    this.#bystander = new Victim()
    await this.#world.start()
    await this.#play(this.#newRound(this.#bystander, []), WAYS.absent.running!)
    this.#expect(this.#bystander, 'running')
  }

  async #recordFirstStart(): Promise<string[]> {
    await using world = new CrashWorld(this.#bundle)
    const log = join(this.#dir, 'first')
    await world.start({ reached: log })
    await this.#greet(world)
    await world.end('SIGTERM')
    return linesOf(log)
  }

  async #crashFirstStart(failpoint: string): Promise<string[]> {
    await using world = new CrashWorld(this.#bundle)
    if (await world.start({ failpoint })) await this.#greet(world).catch(() => {})
    const how = await world.end('SIGTERM')
    if (how !== 'SIGKILL') return [`it was not reached: the agent ended with ${how}`]
    if (!(await world.start())) return ['the agent does not start again']
    await this.#greet(world)
    return await this.#judge(world)
  }

  /** Until the host has said who it is and what it can run. */
  async #greet(world: CrashWorld): Promise<void> {
    using link = await world.connect()
    await link.until((report) => report.facts !== undefined || link.hello.facts?.accelerationPending === false)
  }

  async #recordStep(step: Step): Promise<string[]> {
    const round = await this.#ready(step)
    const log = join(this.#dir, `step-${STEPS.indexOf(step)}`)
    await this.#world.start({ ...step.start, reached: log })
    await this.#play(round, step)
    await this.#world.end('SIGTERM')
    await this.#world.start()
    round.again()
    await this.#play(round, step)
    this.#expect(round.victim, step.gives)
    return linesOf(log)
  }

  async #crashStep(step: Step, failpoint: string): Promise<string[]> {
    const world = this.#world
    const round = await this.#ready(step)
    const watch = world.watch()
    try {
      if (await world.start({ ...step.start, failpoint }))
        await this.#play(round, step).catch(async (error: unknown) => {
          if (!(await world.dies())) throw error
        })
      const how = await world.end('SIGTERM')
      const reached = how === 'SIGKILL' ? [] : [`it was not reached: the agent ended with ${how}`]
      if (!(await world.start())) return [...reached, 'the agent does not start again']
      round.again()
      await this.#play(round, step)
      this.#expect(round.victim, step.gives)
      const after = await this.#judge(world)
      return [...reached, ...after, ...(await this.#sendAgain()), ...watch.stop()]
    } finally {
      watch.stop()
    }
  }

  /** The victim as the step needs it, and no agent. */
  async #ready(step: Step): Promise<Round> {
    if (this.#victim.state === 'absent') this.#victim = new Victim()
    while (this.#victim.state !== step.needs) {
      const way = WAYS[this.#victim.state][step.needs]!
      await this.#play(this.#newRound(this.#victim), way)
      this.#expect(this.#victim, way.gives)
    }
    if (this.#victim.state === 'absent') this.#victim = new Victim()
    await this.#world.end('SIGKILL')
    step.prepare?.(this.#world, this.#victim)
    // While a step is at work on it, a VM that is to change keeps no promise but its disk's.
    const vm = this.#world.expected.vms.get(this.#victim.id)
    if (vm && step.needs === 'running' && !isStart(step)) delete vm.pid
    return this.#newRound(this.#victim)
  }

  #newRound(victim: Victim, bystanders = [this.#bystander.spec]): Round {
    return new Round(this.#world, victim, bystanders)
  }

  async #play(round: Round, step: Step): Promise<void> {
    using link = await this.#world.connect()
    round.link = link
    const late = Promise.withResolvers<never>()
    const told = () => late.reject(new Error(`${step.name}: not done in time: ${brief(link)}`))
    const timer = setTimeout(told, STEP_MS)
    try {
      await Promise.race([step.play(round), late.promise])
    } finally {
      clearTimeout(timer)
    }
  }

  #expect(victim: Victim, state: VictimState): void {
    const { expected } = this.#world
    victim.state = state
    if (state === 'absent') return void expected.vms.delete(victim.id)
    const pid = this.#world.look().vmms.get(victim.id)?.[0]
    const disk = expected.vms.get(victim.id)?.disk ?? this.#world.diskOf(victim.id)
    expected.vms.set(victim.id, {
      running: state === 'running',
      quarantined: state === 'quarantined',
      created: true,
      ...(state === 'running' && pid !== undefined ? { pid } : {}),
      ...(disk === undefined ? {} : { disk }),
    })
  }

  /** What is wrong and stays wrong. */
  async #judge(world: CrashWorld): Promise<string[]> {
    const until = performance.now() + HEAL_MS
    for (;;) {
      const wrong = violations(world.stateDir, world.look(), world.expected)
      if (wrong.length === 0 || performance.now() > until) return wrong
      await pause(50)
    }
  }

  /** The last command once more. */
  async #sendAgain(): Promise<string[]> {
    const world = this.#world
    using link = await world.connect()
    await link.until(() => true)
    const before = essence(world.look())
    link.send(world.epoch, world.wanted)
    await link.next()
    await link.until(rowIs(this.#bystander.id, 'running'))
    const after = essence(world.look())
    return isDeepStrictEqual(before, after) ? [] : [`the same command sent again changed ${changes(before, after)}`]
  }
}

const isStart = (step: Step): boolean => step === startAgain
const essence = ({ vmms, records, files }: Sight) => ({
  vmms,
  records,
  files: files.filter((f) => !/\.(sock|tmp)$/.test(f)),
})
const brief = ({ latest }: Link): string =>
  JSON.stringify(latest?.vms.map(({ vmId, power, phase, detail }) => [vmId.slice(0, 6), power, phase, detail]))
const changes = (before: ReturnType<typeof essence>, after: ReturnType<typeof essence>): string =>
  (['vmms', 'records', 'files'] as const)
    .filter((part) => !isDeepStrictEqual(before[part], after[part]))
    .map((part) => `${part}: ${inspect(before[part], { depth: 3 })} → ${inspect(after[part], { depth: 3 })}`)
    .join('; ')
const linesOf = (file: string): string[] => readFileSync(file, 'utf8').trim().split('\n')
