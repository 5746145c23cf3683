/** Answers in a chat. Enter sends; what is not sent yet stays while the user looks at other chats. */
import { useRef, useState } from "react"
import type { KeyboardEvent } from "react"
import { useMutation, useQueryClient } from "@tanstack/react-query"
import type { Chat } from "@messaging-service/client"
import { call, newKey } from "../api/call.ts"
import { SendingNotes } from "../messages/SendingNotes.tsx"
import { useWaitNote } from "../numbers/StandingSentence.tsx"
import { Icon } from "../ui/Icon.tsx"
import { useKeys } from "../ui/keys.ts"
import { Button, Failure } from "../ui/parts.tsx"
import { answerLabels as labels } from "./words.ts"

interface AnswerProps {
  readonly workspaceId: number
  readonly chat: Chat
  readonly name: string
  readonly mode: "test" | undefined
  readonly sent: () => void
}

/** Texts that are not sent yet, by their chats. */
const drafts = new Map<string, string>()

/** Sends; a repeat after a lost answer sends nothing twice. */
const useAnswer = ({ chat, mode, workspaceId }: AnswerProps) => {
  const client = useQueryClient()
  const last = useRef({ text: "", key: "" })
  return useMutation({
    mutationFn: (text: string) => {
      if (last.current.text !== text) last.current = { text, key: newKey() }
      return call("POST /admin/v1/workspaces/{id}/messages", {
        path: { id: workspaceId },
        query: { mode },
        idempotencyKey: last.current.key,
        body: { to: { chat_id: chat.id }, text },
      })
    },
    onSuccess: () => {
      last.current = { text: "", key: "" }
    },
    onSettled: () => void client.invalidateQueries(),
  })
}

/** A finger's keyboard has no other key for a new line. */
const isCoarse = (): boolean => matchMedia("(pointer: coarse)").matches

export const AnswerBox = (props: AnswerProps) => {
  const { chat, mode, name, sent, workspaceId } = props
  const draft = `${workspaceId} ${chat.id}`
  const [text, setText] = useState(drafts.get(draft) ?? "")
  const change = (next: string) => {
    setText(next)
    drafts.set(draft, next)
  }
  const field = useRef<HTMLTextAreaElement>(null)
  const { error, isPending, mutate } = useAnswer(props)
  const waitNote = useWaitNote(workspaceId, mode === undefined ? chat.number_id : undefined)
  useKeys({ r: () => field.current?.focus() })
  const submit = () => {
    if (text.trim() === "" || isPending) return
    mutate(text, {
      onSuccess: () => {
        change("")
        sent()
      },
    })
  }
  const press = (event: KeyboardEvent) => {
    if (event.key === "Escape") field.current?.blur()
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing || isCoarse())
      return
    event.preventDefault()
    submit()
  }
  return (
    <form
      className="flex shrink-0 flex-col gap-2 border-t border-line p-3"
      onSubmit={(event) => {
        event.preventDefault()
        submit()
      }}
    >
      <SendingNotes id={workspaceId} />
      {waitNote && <p className="text-xs">{waitNote}</p>}
      {error && <Failure error={error} />}
      <div className="flex items-end gap-2">
        <textarea
          ref={field}
          rows={1}
          dir="auto"
          value={text}
          readOnly={isPending}
          aria-label={labels.answerTo(name)}
          aria-keyshortcuts="r"
          placeholder={labels.placeholder}
          onChange={({ target }) => change(target.value)}
          onKeyDown={press}
          className="field-sizing-content max-h-40 min-h-9 min-w-0 grow resize-none rounded-lg border border-edge bg-surface px-3 py-1.5 pointer-coarse:min-h-10 pointer-coarse:py-2"
        />
        <Button
          type="submit"
          variant="primary"
          busy={isPending}
          aria-disabled={text.trim() === ""}
          aria-label={labels.send}
          title={labels.send}
          className="size-9! shrink-0 px-0! pointer-coarse:size-10!"
        >
          <Icon name="send" />
        </Button>
      </div>
    </form>
  )
}
