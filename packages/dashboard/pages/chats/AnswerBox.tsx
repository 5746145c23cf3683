/** Answers in a chat. Enter sends; what is not sent yet stays while the user looks at other chats. */
import { useEffect, useRef, useState } from "react"
import type { KeyboardEvent } from "react"
import { useMutation, useQueryClient } from "@tanstack/react-query"
import type { Chat } from "@messaging-service/client"
import { call, newKey } from "../api/call.ts"
import { SendingNotes } from "../messages/SendingNotes.tsx"
import { useWaitNote } from "../numbers/StandingSentence.tsx"
import { Icon } from "../ui/Icon.tsx"
import { useKeys } from "../ui/keys.ts"
import { Button, Failure } from "../ui/parts.tsx"
import { getEntryAuthor, getEntryText } from "./entries.ts"
import type { Entry } from "./entries.ts"
import { answerLabels as labels } from "./words.ts"

interface AnswerProps {
  readonly workspaceId: number
  readonly chat: Chat
  readonly name: string
  readonly mode: "test" | undefined
  /** What the answer quotes. */
  readonly quoted: Entry | null
  readonly quote: (entry: Entry | null) => void
  readonly sent: () => void
}

/** Texts that are not sent yet, by their chats. */
const drafts = new Map<string, string>()

/** The text for a chat, and how to change it. */
const useDraft = (key: string) => {
  const [text, setText] = useState(drafts.get(key) ?? "")
  const change = (next: string) => {
    setText(next)
    drafts.set(key, next)
  }
  return [text, change] as const
}

const toReply = ({ message, received }: Entry) =>
  received === null ? { message_id: message?.id ?? 0 } : { received_message_id: received.id }

/** Sends; a repeat after a lost answer sends nothing twice. */
const useAnswer = ({ chat, mode, quoted, workspaceId }: AnswerProps) => {
  const client = useQueryClient()
  const last = useRef({ answer: "", key: "" })
  return useMutation({
    mutationFn: (text: string) => {
      const body = {
        to: { chat_id: chat.id },
        text,
        ...(quoted === null ? {} : { reply_to: toReply(quoted) }),
      }
      const answer = JSON.stringify(body)
      if (last.current.answer !== answer) last.current = { answer, key: newKey() }
      return call("POST /admin/v1/workspaces/{id}/messages", {
        path: { id: workspaceId },
        query: { mode },
        idempotencyKey: last.current.key,
        body,
      })
    },
    onSuccess: () => {
      last.current = { answer: "", key: "" }
    },
    onSettled: () => void client.invalidateQueries(),
  })
}

/** A finger's keyboard has no other key for a new line. */
const isCoarse = (): boolean => matchMedia("(pointer: coarse)").matches

export const AnswerBox = (props: AnswerProps) => {
  const { chat, mode, name, quote, quoted, sent, workspaceId } = props
  const [text, change] = useDraft(`${workspaceId} ${chat.id}`)
  const field = useRef<HTMLTextAreaElement>(null)
  const { error, isPending, mutate } = useAnswer(props)
  useKeys({ r: () => field.current?.focus() })
  useEffect(() => {
    if (quoted !== null) field.current?.focus()
  }, [quoted])
  const submit = () => {
    if (text.trim() === "" || isPending) return
    mutate(text, {
      onSuccess: () => {
        change("")
        quote(null)
        sent()
      },
    })
  }
  const press = (event: KeyboardEvent) => {
    if (event.key === "Escape") {
      if (quoted === null) field.current?.blur()
      else quote(null)
    }
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
      {mode === undefined && <WaitNote id={workspaceId} numberId={chat.number_id} />}
      {error && <Failure error={error} />}
      {quoted !== null && <Quoted entry={quoted} drop={() => quote(null)} />}
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

const WaitNote = ({ id, numberId }: { id: number; numberId: number }) => {
  const note = useWaitNote(id, numberId)
  return note === null ? null : <p className="text-xs">{note}</p>
}

const Quoted = ({ drop, entry }: { entry: Entry; drop: () => void }) => (
  <div className="flex items-center gap-2 border-l-2 border-accent pl-2 text-xs text-soft">
    <p className="min-w-0 grow">
      <span className="block truncate font-medium text-accent">
        {labels.quoting(getEntryAuthor(entry))}
      </span>
      <span dir="auto" className="block truncate">
        {getEntryText(entry)}
      </span>
    </p>
    <Button variant="quiet" aria-label={labels.dropQuote} title={labels.dropQuote} onClick={drop}>
      <Icon name="cross" />
    </Button>
  </div>
)
