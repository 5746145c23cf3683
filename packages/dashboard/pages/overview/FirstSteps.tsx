/** What to do in a workspace that has sent nothing yet, in three steps. */
import { Link, useRouteContext } from "@tanstack/react-router"
import type { ReactNode } from "react"
import { firstWords as words } from "./words.ts"

const link = "font-medium text-accent hover:underline"

/** Where a step is done. */
const ways = {
  emulator: words.emulator,
  "messages/new": words.newMessage,
  messages: words.messages,
  numbers: words.numbers,
} as const

export const FirstSteps = ({ workspaceId }: { workspaceId: string }) => {
  const { session } = useRouteContext({ from: "/inside" })
  const params = { workspaceId }
  const wayTo = (to: keyof typeof ways) => (
    <Link key={to} to={`/w/$workspaceId/${to}`} params={params} className={link}>
      {ways[to]}
    </Link>
  )
  const steps: ReadonlyArray<readonly [title: string, about: string, way: ReactNode]> =
    session.kind === "operator" && session.simulated
      ? [
          [words.send, words.sendSimulated, wayTo("emulator")],
          [words.arrive, words.arriveSimulated, wayTo("emulator")],
          [words.breakIt, words.breakSimulated, wayTo("emulator")],
        ]
      : session.role === "member"
        ? [
            [words.send, words.sendMember, wayTo("messages/new")],
            [words.arrive, words.arriveLive, wayTo("messages")],
            [words.why, words.whyMember, wayTo("messages")],
          ]
        : [
            [words.send, words.sendLive, wayTo("messages/new")],
            [words.arrive, words.arriveLive, wayTo("messages")],
            [words.breakIt, words.breakLive, wayTo("numbers")],
          ]
  return (
    <section aria-labelledby="first-steps" className="card flex flex-col gap-4 p-4 md:p-6">
      <h2 id="first-steps" className="text-lg font-semibold">
        {words.title}
      </h2>
      <ol className="grid gap-4 md:grid-cols-3">
        {steps.map(([title, about, way], index) => (
          <li key={title} className="flex flex-col gap-1.5">
            <span
              className="grid size-7 place-items-center rounded-full bg-accent-wash text-sm font-semibold text-accent"
              aria-hidden="true"
            >
              {index + 1}
            </span>
            <p className="font-medium">{title}</p>
            <p className="text-sm text-soft">{about}</p>
            <p className="text-sm">{way}</p>
          </li>
        ))}
      </ol>
    </section>
  )
}
