/** How a workspace and the service do. */
import { isSilent, secondsSince } from "../ServiceFigures.ts"
import { choice, command, maybe, workspace } from "../Command.ts"
import { toFields } from "./rows.ts"

/** How long ago it was, and whether the process counts as dead. */
const formatLife = (seenAt: string, now: string): string => {
  const since = secondsSince(seenAt, now)
  const seconds = Math.max(0, Math.round(since))
  return `${seconds} s ago${isSilent(since) ? ", dead or cut off" : ""}`
}

const ranges = ["24h", "7d", "30d"] as const

export const figureCommands = [
  command({
    name: "figures workspace",
    as: "operator",
    summary: "Shows a workspace's activity and backlog.",
    about: "One line for each hour, six hours or day, oldest first; times are in UTC.",
    options: {
      workspace,
      range: maybe(choice(ranges, "The span of time; default 24h.")),
      mode: maybe(choice(["live", "test"], "Which messages count; default live.")),
    },
    run: async ({ workspace: inside, ...args }, { operator, output }) => {
      const figures = await operator().figures.get(inside, toFields(args))
      if (output.json) return output.one(figures)
      const { buckets, ...rest } = figures
      await output.all(buckets, [
        ["from", "at"],
        "accepted",
        "sent",
        "failed",
        "expired",
        "cancelled",
        "deliveries",
        ["of them failed", "deliveries_failed"],
        ["half within ms", "wait_p50_ms"],
        ["95% within ms", "wait_p95_ms"],
      ])
      output.print("")
      output.one(rest)
    },
  }),
  command({
    name: "figures service",
    as: "operator",
    summary: "Shows the service's metrics and its processes.",
    about:
      "A process gives a sign of life every 15 seconds, and counts as dead 35 seconds after its last. One that stops in\norder is removed from the list, another one after a day.",
    run: async (_, { operator, output }) => {
      const figures = await operator().figures.service()
      if (output.json) return output.one(figures)
      const { now, processes, ...rest } = figures
      output.one({ now, ...rest })
      output.print("")
      await output.all(processes, [
        ["process", "name"],
        "kind",
        "works",
        ["last sign of life", ({ seen_at }) => formatLife(seen_at, now)],
        ["numbers", "numbers_held"],
        ["shards", "shards_held"],
      ])
    },
  }),
]
