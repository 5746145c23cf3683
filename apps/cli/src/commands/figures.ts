/** How a workspace and the service do. */
import { choice, command, maybe, workspace } from "../Command.ts"

const ranges = ["24h", "7d", "30d"] as const

export const figureCommands = [
  command({
    words: "figures workspace",
    as: "operator",
    summary: "Shows what happened in a workspace, and what waits.",
    about: "One line for each hour, six hours or day, oldest first; times are in UTC.",
    options: {
      workspace,
      range: maybe(choice(ranges, "The span of time; default 24h.")),
      mode: maybe(choice(["live", "test"], "Which messages count; default live.")),
    },
    run: async ({ mode, range, workspace: inside }, { operator, output }) => {
      const figures = await operator().figures.get(inside, {
        ...(range === undefined ? {} : { range }),
        ...(mode === undefined ? {} : { mode }),
      })
      if (output.json) return output.one(figures)
      const { buckets, ...rest } = figures
      await output.all(buckets, [
        ["from", ({ at }) => at],
        ["accepted", ({ accepted }) => accepted],
        ["sent", ({ sent }) => sent],
        ["failed", ({ failed }) => failed],
        ["expired", ({ expired }) => expired],
        ["cancelled", ({ cancelled }) => cancelled],
        ["deliveries", ({ deliveries }) => deliveries],
        ["of them failed", ({ deliveries_failed }) => deliveries_failed],
        ["half within ms", ({ wait_p50_ms }) => wait_p50_ms],
        ["95% within ms", ({ wait_p95_ms }) => wait_p95_ms],
      ])
      output.say("")
      output.one(rest)
    },
  }),
  command({
    words: "figures service",
    as: "operator",
    summary: "Shows how the service does, and the processes on its store.",
    run: async (_, { operator, output }) => {
      const figures = await operator().figures.service()
      if (output.json) return output.one(figures)
      const { processes, ...rest } = figures
      output.one(rest)
      output.say("")
      await output.all(processes, [
        ["process", ({ name }) => name],
        ["kind", ({ kind }) => kind],
        ["seen", ({ seen_at }) => seen_at],
        ["numbers", ({ numbers_held }) => numbers_held],
        ["shards", ({ shards_held }) => shards_held],
      ])
    },
  }),
]
