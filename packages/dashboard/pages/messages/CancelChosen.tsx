/** What the user chose of the list, and what cancelling it would hit, before it happens and after. */
import { useMutation, useQueryClient } from "@tanstack/react-query"
import type { Message } from "@messaging-service/client"
import { call } from "../api/call.ts"
import { Button } from "../ui/parts.tsx"
import { chosenWords as words } from "./words.ts"

const isCancellable = ({ status }: Message): boolean =>
  status === "queued" || status === "scheduled"

export const CancelChosen = ({
  done,
  messages,
  workspaceId,
}: {
  workspaceId: number
  messages: ReadonlyArray<Message>
  /** With what happened; null when the user took the choice back. */
  done: (says: string | null) => void
}) => {
  const client = useQueryClient()
  const able = messages.filter(isCancellable)
  const cancel = useMutation({
    mutationFn: () =>
      call("POST /admin/v1/workspaces/{id}/messages/cancel", {
        path: { id: workspaceId },
        body: { ids: able.map(({ id }) => id) },
      }),
    onSuccess: ({ cancelled, not_cancellable }) => done(words.done(cancelled, not_cancellable)),
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
      <Button look="quiet" onClick={() => done(null)}>
        {words.none}
      </Button>
    </div>
  )
}
