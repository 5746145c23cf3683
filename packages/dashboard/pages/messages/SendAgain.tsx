/** Sends what did not arrive once more, as a message of its own. */
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { useState } from "react"
import type { MediaReference } from "@messaging-service/client"
import { call, newKey } from "../api/call.ts"
import type { Body } from "../api/operations.ts"
import { Confirm } from "../ui/Dialog.tsx"
import { Button, Failure } from "../ui/parts.tsx"
import { notifySent } from "./SentToast.tsx"
import type { WorkspaceMessage } from "./timeline.ts"
import { panelLabels as labels } from "./words.ts"

type Send = Body<"POST /admin/v1/workspaces/{id}/messages">

const toRecipient = (to: WorkspaceMessage["to"]): Send["to"] => {
  if ("chat_id" in to) return { chat_id: to.chat_id }
  if ("phone" in to) return { phone: to.phone }
  return "group" in to ? { group: to.group } : { username: to.username }
}

const toMedia = (media: WorkspaceMessage["media"]): MediaReference | undefined => {
  if (media?.media_id != null) return { media_id: media.media_id }
  return media?.url == null ? undefined : { url: media.url }
}

const toSend = ({ from, media, reference, text, to }: WorkspaceMessage): Send => {
  const file = toMedia(media)
  return {
    to: toRecipient(to),
    from: from.id,
    ...(text === "" ? {} : { text }),
    ...(file === undefined ? {} : { media: file }),
    ...(reference === null ? {} : { reference }),
  }
}

/** What may have arrived is sent again after a question alone. */
const mayHaveArrived = ({ error }: WorkspaceMessage): boolean => error?.code === "outcome_unknown"

export const isSentAgain = ({ status }: WorkspaceMessage): boolean =>
  status === "failed" || status === "expired"

export const SendAgain = ({
  message,
  mode,
  workspaceId,
}: {
  message: WorkspaceMessage
  mode: "live" | "test"
  workspaceId: number
}) => {
  const client = useQueryClient()
  const [key, setKey] = useState(newKey)
  const [isAsking, setAsking] = useState(false)
  const send = useMutation({
    mutationFn: () =>
      call("POST /admin/v1/workspaces/{id}/messages", {
        path: { id: workspaceId },
        query: { mode },
        body: toSend(message),
        idempotencyKey: key,
      }),
    onSuccess: (sent) => {
      setKey(newKey())
      setAsking(false)
      notifySent({ messages: [sent], mode }, workspaceId)
    },
    onSettled: () => void client.invalidateQueries(),
  })
  return (
    <>
      {send.error && !isAsking && <Failure error={send.error} />}
      <Button
        busy={send.isPending}
        onClick={() => (mayHaveArrived(message) ? setAsking(true) : send.mutate())}
      >
        {labels.again}
      </Button>
      {isAsking && (
        <Confirm
          title={labels.againTitle}
          action={labels.again}
          variant="primary"
          call={send}
          act={() => send.mutate()}
          close={() => setAsking(false)}
        >
          {labels.againAbout}
        </Confirm>
      )}
    </>
  )
}
