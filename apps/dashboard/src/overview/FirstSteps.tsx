/** What to do in a workspace that has sent nothing yet, in three steps. */
import { Link, useRouteContext } from "@tanstack/react-router"
import type { ReactNode } from "react"
import { firstWords as words } from "./words.ts"

const link = "font-medium text-accent hover:underline"

export const FirstSteps = ({ workspaceId }: { workspaceId: string }) => {
  const { session } = useRouteContext({ from: "/inside" })
  const params = { workspaceId }
  const simulates = session.kind === "operator" && session.simulated
  const toEmulator = (
    <Link to="/w/$workspaceId/emulator" params={params} className={link}>
      {words.emulator}
    </Link>
  )
  const steps: ReadonlyArray<readonly [title: string, about: string, way: ReactNode]> = simulates
    ? [
        [words.send, words.sendSimulated, toEmulator],
        [words.arrive, words.arriveSimulated, toEmulator],
        [words.breakIt, words.breakSimulated, toEmulator],
      ]
    : [
        [
          words.send,
          words.sendLive,
          <Link key="send" to="/w/$workspaceId/messages/new" params={params} className={link}>
            {words.newMessage}
          </Link>,
        ],
        [
          words.arrive,
          words.arriveLive,
          <Link key="arrive" to="/w/$workspaceId/messages" params={params} className={link}>
            {words.messages}
          </Link>,
        ],
        [
          words.breakIt,
          words.breakLive,
          <Link key="break" to="/w/$workspaceId/numbers" params={params} className={link}>
            {words.numbers}
          </Link>,
        ],
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
