/** Answers in one sentence why a message waits; then what else holds it, and the one thing that a user can do. */
import { Link, useRouteContext } from "@tanstack/react-router"
import type { Message } from "@messaging-service/client"
import { useCall } from "../api/call.ts"
import { Icon } from "../ui/Icon.tsx"
import { Button } from "../ui/parts.tsx"
import { When } from "../ui/Time.tsx"
import type { Waiting } from "./timeline.ts"
import { findAhead, sentences } from "./waiting.ts"
import type { Sentence } from "./waiting.ts"
import { whyLabels as labels } from "./words.ts"

export const WhyItWaits = ({
  message,
  waiting,
  workspaceId,
}: {
  waiting: Waiting
  message: Message
  workspaceId: number
}) => {
  const [first, ...others] = sentences(waiting)
  if (first === undefined) return null
  const needsUser = first.remedy !== null
  const tone = needsUser ? "bg-amber-wash text-amber" : "bg-violet-wash text-violet"
  return (
    <section className={`flex flex-col gap-2 rounded-lg px-3.5 py-3 ${tone}`}>
      <h3 className="flex items-center gap-1.5 text-xs font-medium">
        <Icon name={needsUser ? "warning" : "clock"} />
        {labels.title}
      </h3>
      <p className="text-lg font-semibold">{first.message}</p>
      <WhatFollows first={first} others={others} ahead={findAhead(waiting)} />
      <Remedy remedy={first.remedy} numberId={message.from.id} workspaceId={workspaceId} />
    </section>
  )
}

const WhatFollows = ({
  ahead,
  first,
  others,
}: {
  first: Sentence
  others: ReadonlyArray<Sentence>
  ahead: string | null
}) => (
  <div className="text-sm">
    {first.until && (
      <p>
        {labels.canLeave[0]}
        <When at={first.until} />
        {labels.canLeave[1]}
        <When at={first.until} how="clock" />
        {labels.canLeave[2]}
      </p>
    )}
    {!first.until && first.ends !== null && <p>{labels.ends(first.ends)}</p>}
    {ahead && <p>{ahead}</p>}
    {others.map(({ message, until }) => (
      <p key={message}>
        {labels.then(message)}
        {until && (
          <>
            {" "}
            {labels.until}
            <When at={until} how="clock" />.
          </>
        )}
      </p>
    ))}
  </div>
)

const Remedy = ({
  numberId,
  remedy,
  workspaceId,
}: {
  remedy: Sentence["remedy"]
  numberId: number
  workspaceId: number
}) => {
  const resume = useCall("POST /admin/v1/workspaces/{id}/numbers/{number_id}/resume")
  const { session } = useRouteContext({ from: "/inside" })
  if (remedy === null) return null
  if (session.role === "member") return <p className="text-sm">{labels.forAdministrators}</p>
  if (remedy === "link")
    return (
      <Link
        to="/w/$workspaceId/numbers"
        params={{ workspaceId: String(workspaceId) }}
        className="control self-start text-ink"
      >
        {labels.toNumber}
      </Link>
    )
  return (
    <>
      <Button
        className="self-start text-ink"
        busy={resume.isPending}
        onClick={() => resume.mutate({ path: { id: workspaceId, number_id: numberId } })}
      >
        {labels.resume}
      </Button>
      {resume.error && <p role="alert">{resume.error.message}</p>}
    </>
  )
}
