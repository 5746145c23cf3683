/** Calls between processes of a world, as over a connection, and their random streams. */
import type { Chance, Process } from "@messaging-service/emulator"
import { Effect } from "effect"
import type { Exit, Random } from "effect"

/** Effect's randomness, drawn from a stream of the seed. */
export const randomFrom = (chance: Chance): typeof Random.Random.Service => ({
  nextIntUnsafe: () => Math.floor(chance.next() * Number.MAX_SAFE_INTEGER),
  nextDoubleUnsafe: () => chance.next(),
})

export const oneOf = <A>(chance: Chance, items: readonly [A, ...ReadonlyArray<A>]): A =>
  items[chance.below(items.length)] ?? items[0]

/** The called process died before it answered, or was already dead. */
export class Lost {
  readonly _tag = "Lost"
}

/** Starts an effect in a process with the next step. */
export const spawn = <A, E>(
  process: Process,
  effect: Effect.Effect<A, E>,
  done?: (exit: Exit.Exit<A, E>) => void,
): void => {
  process.world.add(process, () => {
    const fiber = Effect.runForkWith(process.context)(effect)
    if (done !== undefined) fiber.addObserver(done)
  })
}

/** Runs an effect in one process for a caller in another one. */
export const callIn = <A, E>(
  process: Process,
  caller: Process,
  effect: Effect.Effect<A, E>,
): Effect.Effect<A, E | Lost> =>
  Effect.callback<A, E | Lost>((resume) => {
    const { world } = process
    const lost = () => world.add(caller, () => resume(Effect.fail(new Lost())))
    if (process.state === "dead") {
      lost()
      return
    }
    const forget = process.whenDead(lost)
    spawn(process, effect, (exit) => {
      if (process.state === "dead") return
      forget()
      world.add(caller, () => resume(exit))
    })
  })
