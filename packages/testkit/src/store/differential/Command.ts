/**
 * Commands for stores, as chance gives them: the place of a method in the table, and numbers that its
 * generator reads as its choices. Zero is always the plainest choice, so a sequence shrinks by losing
 * commands and by numbers that become zero.
 */
import { Arbitrary, Schema } from "effect"

export interface Command {
  readonly method: number
  readonly choices: ReadonlyArray<number>
}

/** Choices of one command; a generator that asks for more gets zeros. */
const choicesOfOne = 20

const Choice = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 0xff_ff }))

/** All at zero, then the halves, then one by one. */
const plainer = ({ choices, method }: Command): ReadonlyArray<Command> => {
  const zeroed = (from: number, until: number) => ({
    method,
    choices: choices.map((choice, index) => (index >= from && index < until ? 0 : choice)),
  })
  const half = choicesOfOne / 2
  const spans = [
    [0, choicesOfOne],
    [0, half],
    [half, choicesOfOne],
  ] as const
  return [
    ...spans.map(([from, until]) => zeroed(from, until)),
    ...choices.map((_, index) => zeroed(index, index + 1)),
  ].filter((one) => one.choices.some((choice, index) => choice !== choices[index]))
}

/** Without some of its commands, the longest parts first, then with plainer ones. */
const shorter = (commands: ReadonlyArray<Command>): ReadonlyArray<ReadonlyArray<Command>> => {
  const without: Array<ReadonlyArray<Command>> = []
  for (
    let size = Math.ceil(commands.length / 2);
    size >= 1;
    size = size === 1 ? 0 : Math.ceil(size / 2)
  ) {
    for (let from = commands.length - size; from > -size; from -= size) {
      without.push(commands.filter((_, index) => index < from || index >= from + size))
    }
  }
  const withPlainer = commands.flatMap((command, index) =>
    plainer(command).map((one) => commands.with(index, one)),
  )
  return [...without, ...withPlainer]
}

/**
 * Sequences of commands for a table of so many methods. `failedAt` says how many commands it took until
 * a sequence failed: the rest of them goes first.
 */
export const sequencesFor = (
  methods: number,
  failedAt: (commands: ReadonlyArray<Command>) => number,
) =>
  Arbitrary.schema(
    Schema.Array(
      Schema.Struct({
        method: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: methods - 1 })),
        choices: Schema.Array(Choice).check(
          Schema.isMinLength(choicesOfOne),
          Schema.isMaxLength(choicesOfOne),
        ),
      }),
    ),
    {
      shrink: (commands) => {
        const needed = failedAt(commands)
        return needed < commands.length ? [commands.slice(0, needed)] : shorter(commands)
      },
    },
  )
