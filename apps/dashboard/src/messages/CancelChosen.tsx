/** What the user chose of the list, and what cancelling it would hit, before it happens. */
import { useMutation, useQueryClient } from "@tanstack/react-query"
import type { Message } from "../api/additions.ts"
import { Refused, call } from "../api/call.ts"
import { isOffered } from "../api/offered.ts"
import { Button } from "../ui/parts.tsx"
import { chosenWords as words } from "./words.ts"

const isCancellable = ({ status }: Message): boolean =>
  status === "queued" || status === "scheduled"

const together = "POST /admin/v1/workspaces/{id}/messages/cancel"

/** Until the service cancels many at once, one after the other; one that has just left stays as it is. */
const cancelAll = async (id: number, messages: ReadonlyArray<Message>): Promise<void> => {
  if (isOffered(together)) {
    await call(together, { path: { id }, body: { ids: messages.map((message) => message.id) } })
    return
  }
  for (const message of messages) {
    await call("DELETE /admin/v1/workspaces/{id}/messages/{message_id}", {
      path: { id, message_id: message.id },
    }).catch((error: unknown) => {
      if (!(error instanceof Refused) || error.code !== "not_cancellable") throw error
    })
  }
}

export const CancelChosen = ({
  done,
  messages,
  workspaceId,
}: {
  workspaceId: number
  messages: ReadonlyArray<Message>
  done: () => void
}) => {
  const client = useQueryClient()
  const able = messages.filter(isCancellable)
  const cancel = useMutation({
    mutationFn: () => cancelAll(workspaceId, able),
    onSuccess: done,
    onSettled: () => client.invalidateQueries({ queryKey: ["messages", workspaceId] }),
  })
  return (
    <div
      role="region"
      aria-label={words.title}
      className="over sticky bottom-4 flex flex-wrap items-center gap-3 self-center px-4 py-2.5 text-sm"
    >
      <span className="tabular-nums">
        <b className="font-semibold">{messages.length}</b> {words.chosen}
        {able.length < messages.length && (
          <span className="text-soft">{words.ended(messages.length - able.length)}</span>
        )}
      </span>
      {cancel.error && <span className="text-red">{cancel.error.message}</span>}
      <Button
        look="danger"
        busy={cancel.isPending}
        aria-disabled={able.length === 0}
        onClick={() => able.length > 0 && cancel.mutate()}
      >
        {words.cancel(able.length)}
      </Button>
      <Button look="quiet" onClick={done}>
        {words.none}
      </Button>
    </div>
  )
}
