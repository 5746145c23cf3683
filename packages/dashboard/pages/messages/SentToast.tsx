/** Says what was accepted, with the way to it. */
import { Link } from "@tanstack/react-router"
import type { Message } from "@messaging-service/client"
import { notify } from "../ui/Toast.tsx"
import type { MessageSearch } from "./messageSearch.ts"
import { newMessageLabels as labels } from "./words.ts"

export interface Accepted {
  readonly messages: ReadonlyArray<Message>
  readonly mode: "live" | "test"
}

/** The list with what was sent: one message opened, of several those that are as new as the first of them. */
const searchFor = ({ messages, mode }: Accepted): MessageSearch => ({
  ...(messages.length === 1 ? { open: messages[0]?.id } : { since: messages[0]?.created_at }),
  ...(mode === "test" ? { mode } : {}),
})

export const notifySent = (sent: Accepted, workspaceId: number): void =>
  notify(
    <>
      {labels.accepted(sent.messages)} ·{" "}
      <Link
        to="/w/$workspaceId/messages"
        params={{ workspaceId: String(workspaceId) }}
        search={searchFor(sent)}
        className="font-medium text-accent hover:underline"
      >
        {labels.view}
      </Link>
    </>,
  )
